"""Compares the config of a record with the one that is wanted."""

from collections.abc import Iterator
from pathlib import Path

from pfgnn.errors import InputError
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import config_mapping, parse_config
from pfgnn.experiments.row_file import Record


def check_same(found: Record, wanted: Config, path: Path) -> None:
    """Raise an InputError unless a stored config is the wanted one.

    Args:
        found: The stored config. A setting that it lacks has its default value.
        wanted: The config of the row.
        path: File of the stored config, for the message.
    """
    try:
        config = parse_config(found)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} must come from the config of its row, but {error}") from None
    old, new = (dict(_settings(config_mapping(side))) for side in (config, wanted))
    changed = [f"{key} is {old.get(key)}, not {new.get(key)}" for key in {**old, **new} if old.get(key) != new.get(key)]
    if changed:
        raise InputError(
            f"{path} must come from the config of its row, but there {', '.join(changed)}; "
            "move it away to run the row again"
        )


def _settings(mapping: Record, prefix: str = "") -> Iterator[tuple[str, object]]:
    """All settings of a nested dictionary, each with its dotted name."""
    for key, value in mapping.items():
        if isinstance(value, dict) and value:
            yield from _settings(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
