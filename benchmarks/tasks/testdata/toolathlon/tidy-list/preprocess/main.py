"""Nothing to write: the workspace is copied."""
from argparse import ArgumentParser

parser = ArgumentParser()
parser.add_argument("--agent_workspace")
parser.add_argument("--launch_time")
# connect( in a comment prepares nothing
parser.parse_args()
