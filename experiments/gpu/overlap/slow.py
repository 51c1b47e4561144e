"""An MCP server over stdio whose answers take longer, as those of a server far away do: slow.py SECONDS COMMAND [ARGUMENT ...]

Each line that the command writes is passed on SECONDS later. Lines wait side by side, so many calls at once take no longer than one.
"""

import queue
import subprocess
import sys
import threading
import time

delay = float(sys.argv[1])
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
answers = queue.Queue()


def requests():
    for line in sys.stdin.buffer:
        server.stdin.write(line)
        server.stdin.flush()
    server.stdin.close()


def read():
    for line in server.stdout:
        answers.put((time.monotonic() + delay, line))
    answers.put((0, b""))


threading.Thread(target=requests, daemon=True).start()
threading.Thread(target=read, daemon=True).start()
while True:
    due, line = answers.get()
    if not line:
        break
    time.sleep(max(0, due - time.monotonic()))
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
sys.exit(server.wait())
