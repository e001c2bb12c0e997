#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: MLIR does not read what it prints of a group of asynchronous copies that has no copies.
# Version: iree-opt of iree-base-compiler 3.13.0.
# Input: `nvgpu.device_async_create_group` without operands, which is valid: its operands are variadic. Another operation
#   that has a result follows it. The operation's form in text ends with its optional operands.
# Seen: it is printed as `%0 = nvgpu.device_async_create_group`, and the parser takes the next line's `%1` for its operand:
#   `error: expected operation name in quotes`. Where no result follows, the text is read.
# Expected: text that is read again, such as parentheses around no operands.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

create='%group = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token'
value='%size = arith.constant 64 : index'

# Prints whether the text that iree-opt makes of two operations is read.
again() {
  cat > written.mlir <<MLIR
func.func @copies() -> index {
  $1
  $2
  "nvgpu.device_async_wait"(%group) <{numGroups = 0 : i32}> : (!nvgpu.device.async.token) -> ()
  return %size : index
}
MLIR
  venv/bin/iree-opt written.mlir > printed.mlir
  if venv/bin/iree-opt printed.mlir > /dev/null 2> errors; then echo "read"; else grep -o -m 1 'error: .*' errors; fi
}
{
  echo "a value, then the group: $(again "$value" "$create")"
  echo "the group, then a value: $(again "$create" "$value")"
} | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: the text of a group before a value was not read" >&2; exit 1; }
a value, then the group: read
the group, then a value: error: expected operation name in quotes
EXPECTED
