# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pyproject.toml cannot say: which modules of the root, which is the package, are shipped."""

from setuptools import setup
from setuptools.command.build_py import build_py

_NOT_SHIPPED = {"lit.cfg", "setup"}


class BuildWhatIsShipped(build_py):
    """Leaves out the configuration of a checkout's tests, and this file."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """Returns the modules of `package`, as (package, module, file)."""
        modules = super().find_package_modules(package, package_dir)
        return [each for each in modules if each[1] not in _NOT_SHIPPED]


setup(cmdclass={"build_py": BuildWhatIsShipped})
