# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stands for a tool that `tool_server.py` runs: `started_tool.py SOCKET TOOL ARGUMENTS...`.

It imports next to nothing, as it is what remains of the start of a tool.
"""

import _socket
import json
import os
import sys

asked = {
    "arguments": sys.argv[2:],
    "directory": os.getcwd(),  # noqa: PTH109
    "environment": dict(os.environ),
}
text = json.dumps(asked).encode()
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect(sys.argv[1])
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
size = b"%d\n" % len(text)
server.sendmsg([size], rights)
server.sendall(text)
code = int(server.recv(16) or 1)
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
