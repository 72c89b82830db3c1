"""The extension starts what there is: its entry, its command and its settings are the ones that it names."""

import json
from pathlib import Path

from noetl import __version__
from noetl.cli.main import COMMANDS
from noetl.lsp.server import PICTURE

FOLDER = Path(__file__).resolve().parents[2] / "editors" / "vscode"
PACKAGE = json.loads((FOLDER / "package.json").read_text())
CODE = (FOLDER / "extension.js").read_text()


def test_it_starts_a_command_that_exists() -> None:
    assert 'args: ["lsp"]' in CODE
    assert any("lsp" in commands for commands in COMMANDS.values())


def test_what_it_declares_it_uses() -> None:
    declared = PACKAGE["contributes"]
    assert all(f'"{name.partition(".")[2]}"' in CODE for name in declared["configuration"]["properties"])
    assert all(f'registerCommand("{entry["command"]}"' in CODE for entry in declared["commands"])


def test_what_is_packed_is_what_it_builds() -> None:
    """npm alone builds and packs it: one file without the libraries' folders."""
    built = PACKAGE["main"].removeprefix("./")
    assert "esbuild extension.js --bundle" in PACKAGE["scripts"]["vscode:prepublish"]
    assert f"--outfile={built}" in PACKAGE["scripts"]["vscode:prepublish"]
    assert built in PACKAGE["files"]
    assert "dependencies" not in PACKAGE


def test_the_folder_packs_wherever_it_is_copied_to() -> None:
    """Nothing outside of it is needed: no script leaves it, and what is packed beside the build is in it."""
    assert not [script for script in PACKAGE["scripts"].values() if ".." in script]
    assert all(
        (FOLDER / name).is_file() for name in {*PACKAGE["files"]} - {PACKAGE["main"].removeprefix("./")}
    )
    assert (FOLDER / "LICENSE").read_bytes() == (FOLDER.parents[1] / "LICENSE").read_bytes()


def test_a_server_that_was_not_found_is_started_again_once_it_is_named() -> None:
    assert "client.stop().catch" in CODE
    assert 'affectsConfiguration("noetl.path")) restart()' in CODE


def test_the_picture_that_it_asks_for_is_a_command_of_the_server() -> None:
    assert f'command: "{PICTURE}"' in CODE


def test_it_is_of_this_release() -> None:
    assert __version__.startswith(PACKAGE["version"])
