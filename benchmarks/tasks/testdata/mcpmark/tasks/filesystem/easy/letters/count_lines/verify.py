import os
import pathlib
import sys

folder = pathlib.Path(os.environ["FILESYSTEM_TEST_DIR"])
if (folder / "needs-module").exists():
    import a_module_that_nobody_has
text = (folder / "total.txt").read_text()  # raises where it is not there: the agent's fault
print("looked at", text)
sys.exit(0 if text.strip() == "3" else 1)
