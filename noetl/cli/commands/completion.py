"""`noetl completion`: the script that lets a shell complete commands, options and files."""

import click

from noetl.cli.terminal import emit

SHELLS = ("bash", "zsh", "fish")
# A zsh that nobody has set up knows no completion. The first line of the script is for zsh's own lists.
ZSH_HEAD = "#compdef noetl\n"
ZSH_READY = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
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
    emit(script.replace(ZSH_HEAD, ZSH_HEAD + ZSH_READY, 1) if shell == "zsh" else script)
