"""The type of users' JSON: what a playbook, a payload, a result or a request body holds. No code lives here.

Code that takes such a value narrows it with `isinstance` before it looks inside; `Any` would let it guess.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
else:
    Json = Any  # msgspec decodes structs by their annotations and has no recursive type; every value fits

JsonObject: TypeAlias = dict[str, Json]
