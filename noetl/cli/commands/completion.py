"""`noetl completion`: the script that lets a shell complete commands, options, files and names."""

import click

from noetl.cli.terminal import emit

SHELLS = ("bash", "zsh", "fish")
# A zsh that nobody has set up knows no completion. The first line of the script is for zsh's own lists.
ZSH_HEAD = "#compdef noetl\n"
ZSH_READY = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
# Bash completes files only where nothing else fits; here they stand beside paths of registered playbooks.
BASH_FILES_ALONE = """\
            COMPREPLY=()
            compopt -o default
"""
BASH_FILES_TOO = """\
            compopt -o filenames
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$value")
"""
EPILOG = """\b
Examples:
  noetl completion bash >> ~/.bashrc
  noetl completion zsh >> ~/.zshrc
  noetl completion fish > ~/.config/fish/completions/noetl.fish
"""


@click.command("completion", epilog=EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the script that lets a shell complete commands and options."""
    from click.shell_completion import get_completion_class

    from noetl.cli.main import root

    completion = get_completion_class(shell)
    assert completion is not None, "click knows every shell that can be chosen"
    script = completion(root, {}, "noetl", "_NOETL_COMPLETE").source()
    for theirs, ours in ((ZSH_HEAD, ZSH_HEAD + ZSH_READY), (BASH_FILES_ALONE, BASH_FILES_TOO)):
        script = script.replace(theirs, ours, 1)
    emit(script)
