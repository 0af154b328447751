"""Read configs from YAML files, with base files and overrides. Check them, and write them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml

from pfgnn.errors import InputError, InputTypeError, nearest, shown
from pfgnn.experiments.config import Config, check_together
from pfgnn.experiments.shipped import find_config, similar_configs
from pfgnn.experiments.yaml_text import MOST_LEVELS, load_yaml
from pfgnn.files import ending, read_text, write_text
from pfgnn.setting_types import Limit, PartName

# How error messages describe a value of each type.
WORDS = {bool: "true or false", int: "an integer", float: "a finite number", str: "text"}

# Endings of files with graphs, which are often given in place of a config.
GRAPHS = (".csv", ".tsv", ".smi", ".smiles", ".g6", ".s6", ".jsonl", ".pfgnn")

# Settings of earlier versions that no longer exist, each with the value that had no effect. Configs with this value can
# still be read.
RETIRED = {"training": {"block": 1, "union": 1}}


def read_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read a config from a YAML file.

    Args:
        path: The file, or the name of a config that comes with pfgnn, such as "ours/zinc". The file's key ``base`` may
            name another config, relative to this file or shipped. Then values that this file does not set are those
            of the base.
        overrides: Changes of single settings, such as "model.particles=16". The value is parsed as YAML.
    """
    mapping = read_settings(path)
    try:
        config: Config = _parse(Config, mapping, "")
        if not overrides:
            check_together(config)
            return config
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path}: {error}") from None
    for override in overrides:
        apply_override(mapping, override)
    return parse_config(mapping)


def read_settings(path: str | Path) -> dict[str, Any]:
    """The settings that a config and its bases set, as nested dictionaries. They are not checked.

    Args:
        path: See :func:`read_config`.
    """
    return _without_retired(_read_file(find_config(path), ()))


def parse_config(mapping: Mapping[str, Any]) -> Config:
    """Make a config from nested dictionaries, as YAML and JSON files give them, and check it."""
    try:
        config: Config = _parse(Config, _without_retired(mapping), "")
    except RecursionError:
        raise InputError(f"a config must have at most {MOST_LEVELS} levels, but it has more") from None
    check_together(config)
    return config


def config_mapping(config: Config) -> dict[str, Any]:
    """The config as nested dictionaries that JSON can store. :func:`parse_config` is the inverse."""
    mapping: dict[str, Any] = _plain(asdict(config), "")
    return mapping


def write_config(path: str | Path, config: Config) -> None:
    """Write the config as YAML. A crash leaves no half-written file."""
    text = yaml.safe_dump(config_mapping(config), sort_keys=False)
    write_text(Path(path), text)


def _read_file(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    """Read the values of a file, merged into those of its base.

    Args:
        path: The file.
        above: The files that name this one as their base, directly or through other bases.
    """
    if path.resolve() in above:
        raise InputError(f"base must not lead back to the file itself, but it does in {path}")
    if ending(path) in GRAPHS:
        raise InputError(
            f"{path} must be a config (YAML), but it is named like graphs; see `pfgnn data convert --help`"
        )
    try:
        text = read_text(path)
    except OSError as error:
        wanted = f"{path}, the base of {above[-1].name}," if above else path
        names = similar_configs(path)
        near = f"did you mean {' or '.join(names)}?" if names else "`pfgnn configs` lists those that come with pfgnn"
        if (path.parent / "record.json").exists():  # it is no config that the user chose
            near = f"{path.parent} is a run that has lost it; copy the whole folder again"
        raise type(error)(f"{wanted} must be a config that can be read, but {error.strerror}; {near}") from None
    content = load_yaml(text, str(path))
    if not isinstance(content, dict):
        raise InputTypeError(
            f"{path} must hold settings such as data, model and training, but it holds {shown(content)}"
        )
    base = content.pop("base", None)
    if base is None:
        return content
    if not isinstance(base, str) or "\0" in base:
        raise InputTypeError(f"{path}: base must be the name of a file, but it is {shown(base)}")
    return _merge(_read_file(find_config(base, path.parent), (*above, path.resolve())), content)


def _merge(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The values of ``base``, replaced by those of ``changes``. Nested dictionaries are merged in the same way."""
    merged = dict(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = _merge(base[key], value) if both else value
    return merged


def _without_retired(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """The values without the settings of ``RETIRED`` that had no effect."""
    left = dict(mapping)
    for section, settings in RETIRED.items():
        if isinstance(left.get(section), dict):
            left[section] = {key: value for key, value in left[section].items() if (key, value) not in settings.items()}
    return left


def apply_override(mapping: dict[str, Any], override: str) -> None:
    """Change one setting of nested dictionaries, in place. See :func:`read_config`."""
    key, equals, text = override.partition("=")
    if not equals or not all(key.split(".")):
        raise InputError(f"an override must look like model.particles=16, but it is {shown(override)}")
    if key.count(".") > MOST_LEVELS:
        raise InputError(f"an override must name at most {MOST_LEVELS} levels, but it is {shown(override)}")
    set_value(mapping, key, load_yaml(text, f"the value of {key}"))


def set_value(mapping: dict[str, Any], key: str, value: Any) -> None:
    """Set one setting of nested dictionaries, in place.

    Args:
        mapping: The dictionaries.
        key: Dotted name, such as "model.particles".
        value: Its value.
    """
    *sections, last = key.split(".")
    place = mapping
    for section in sections:
        if not isinstance(place.get(section), dict):  # absent or null
            place[section] = {}
        place = place[section]
    place[last] = value


def _parse(hint: Any, value: Any, key: str, also: str = "") -> Any:
    """Convert a value to the type of a setting, or raise an error.

    Args:
        hint: Type hint of the setting.
        value: The value in the config.
        key: Dotted name of the setting, for the error message.
        also: " or null" if null is allowed too, for the error message.
    """
    origin, parts = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return _parse_section(hint, value, key, also)
    if hint is Any:
        return _plain(value, key)
    if origin is Annotated:
        return _within(_parse(parts[0], value, key, also), parts[1:], key)
    if origin in (Union, UnionType):  # X | None
        return None if value is None else _parse(parts[0], value, key, " or null")
    if origin is Literal:
        return _one_of(parts, value, key)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise InputTypeError(f"{key} must be a list, but it is {shown(value)}")
        return tuple(_parse(parts[0], entry, f"{key}[{place}]") for place, entry in enumerate(value))
    if origin is dict:
        return _plain(_section(value, key, also), key)
    return _parse_scalar(hint, value, key, also)


def _within(value: Any, limits: Iterable[Limit | PartName], key: str) -> Any:
    """Return the value if it is within all limits, otherwise raise an error."""
    for limit in limits:
        if isinstance(limit, PartName):
            from pfgnn.model.registries import SETTINGS  # here, because it loads torch, which is slow

            if limit.others is None or not limit.others.fullmatch(value):
                _one_of(list(SETTINGS[limit.setting]), value, key)
        elif not limit.holds(value):
            raise InputError(f"{key} must be {limit.text}, but it is {shown(value)}")
    return value


def _one_of(names: Sequence[str], value: Any, key: str) -> Any:
    if not isinstance(value, str) or value not in names:
        raise InputError(f"{key} must be one of {', '.join(names)}, but it is {shown(value)}{_nearest(value, names)}")
    return value


def _parse_section(section: Any, value: Any, key: str, also: str) -> Any:
    """Make a dataclass from a mapping of its fields."""
    hints = get_type_hints(section, include_extras=True)
    found = _section(value, key, also)
    for name, entry in found.items():
        if name not in hints:
            near = _nearest(name, hints) or f"; the settings are {', '.join(hints)}"
            raise InputError(f"{_join(key, name)} is not a setting, but it is set to {shown(entry)}{near}")
    for field in fields(section):
        if field.name not in found and field.default is MISSING and field.default_factory is MISSING:
            raise InputError(f"{_join(key, field.name)} must be set, but it is missing")
    return section(**{name: _parse(hints[name], entry, _join(key, name)) for name, entry in found.items()})


def _parse_scalar(kind: type, value: Any, key: str, also: str) -> Any:
    number = value
    if kind is float and type(value) in (int, str):  # YAML reads 1e-3 as text
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
    if type(number) is not kind or not _finite(number):
        raise InputTypeError(f"{key} must be {WORDS[kind]}{also}, but it is {shown(value)}")
    return number


def _plain(value: Any, key: str) -> Any:
    """A copy of values that JSON can store. Other values raise an error."""
    if isinstance(value, dict):
        return {name: _plain(entry, _join(key, str(name))) for name, entry in _section(value, key, "").items()}
    if isinstance(value, list | tuple):
        return [_plain(entry, f"{key}[{place}]") for place, entry in enumerate(value)]
    if not isinstance(value, bool | int | float | str | NoneType) or not _finite(value):
        raise InputTypeError(
            f"{key} must be text, a finite number, true, false, null or a list, but it is {shown(value)}"
        )
    return value


def _finite(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _section(value: Any, key: str, also: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputTypeError(
            f"{key or 'a config'} must be a mapping of names to values{also}, but it is {shown(value)}"
        )
    for name in value:
        if not isinstance(name, str):
            raise InputTypeError(f"the name of {_join(key, str(name))} must be text, but it is {shown(name)}")
    return value


def _nearest(name: object, names: Iterable[str]) -> str:
    """The end of an error message that suggests the most similar name; empty if none is similar."""
    near = nearest(name, names)
    return f"; did you mean {near}?" if near else ""


def _join(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
