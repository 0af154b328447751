"""Configs from YAML: read, merged with a base, changed by overrides, checked, and written back."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml

from pfgnn.errors import InputError, InputTypeError
from pfgnn.experiments.config import Config, check_together
from pfgnn.files import write_atomically
from pfgnn.limits import Limit, PartName

WORDS = {bool: "true or false", int: "an integer", float: "a finite number", str: "text"}

# Settings that are gone, with the value at which they did nothing. A config that an earlier version wrote may hold it.
RETIRED = {"training": {"block": 1, "union": 1}}


def read_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """The config of a YAML file.

    Args:
        path: the file. Its key ``base`` may name another one, relative to itself, whose values it changes.
        overrides: such as "model.particles=16"; the value is read as YAML.
    """
    mapping = _without_retired(_read_file(Path(path), ()))
    try:
        _parse(Config, mapping, "")
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path}: {error}") from None
    for override in overrides:
        _override(mapping, override)
    return parse_config(mapping)


def parse_config(mapping: Mapping[str, Any]) -> Config:
    """The checked config of nested plain values, as YAML and JSON have them."""
    config: Config = _parse(Config, _without_retired(mapping), "")
    check_together(config)
    return config


def config_mapping(config: Config) -> dict[str, Any]:
    """The config as nested plain values, ready for JSON; :func:`parse_config` gives it back."""
    mapping: dict[str, Any] = _plain(asdict(config), "")
    return mapping


def write_config(path: str | Path, config: Config) -> None:
    """Write the config as YAML, whole or not at all."""
    text = yaml.safe_dump(config_mapping(config), sort_keys=False)
    write_atomically(Path(path), lambda temporary: temporary.write_text(text))


class _Loader(yaml.SafeLoader):
    """YAML that refuses a key that stands twice, where PyYAML would keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            text = str(key.value)
            if text in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{text} stands twice", key.start_mark)
            seen.add(text)
        return super().construct_mapping(node, deep)


def _load(text: str, source: str) -> Any:
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{source}, line {line} must be YAML, but {error.problem}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{source} must be YAML, but {' '.join(str(error).split())}") from None


def _read_file(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    """The values of a file and, below them, of its base; ``above`` are the files that led to it."""
    if path.resolve() in above:
        raise InputError(f"base must not lead back to the file itself, but it does in {path}")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        wanted = f"{path}, the base of {above[-1].name}," if above else path
        raise type(error)(f"{wanted} must be a config that can be read, but {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} must be a YAML text in UTF-8, but it is not") from None
    content = _load(text, str(path))
    if not isinstance(content, dict):
        raise InputTypeError(f"{path} must hold settings such as data, model and training, but it holds {content!r}")
    base = content.pop("base", None)
    if base is None:
        return content
    if not isinstance(base, str):
        raise InputTypeError(f"{path}: base must be the name of a file, but it is {base!r}")
    return _merge(_read_file(path.parent / base, (*above, path.resolve())), content)


def _merge(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = _merge(base[key], value) if both else value
    return merged


def _without_retired(mapping: Mapping[str, Any]) -> dict[str, Any]:
    left = dict(mapping)
    for section, settings in RETIRED.items():
        if isinstance(left.get(section), dict):
            left[section] = {key: value for key, value in left[section].items() if (key, value) not in settings.items()}
    return left


def _override(mapping: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not all(key.split(".")):
        raise InputError(f"an override must look like model.particles=16, but it is {override!r}")
    *sections, last = key.split(".")
    place = mapping
    for section in sections:
        if not isinstance(place.get(section), dict):  # absent or null
            place[section] = {}
        place = place[section]
    place[last] = _load(text, f"the value of {key}")


def _parse(hint: Any, value: Any, key: str, also: str = "") -> Any:
    """The value as the type hint wants it; ``key`` is where it stands, ``also`` what else may, for the message."""
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
            raise InputTypeError(f"{key} must be a list, but it is {value!r}")
        return tuple(_parse(parts[0], entry, f"{key}[{place}]") for place, entry in enumerate(value))
    if origin is dict:
        return _plain(_section(value, key, also), key)
    return _parse_scalar(hint, value, key, also)


def _within(value: Any, limits: Iterable[Limit | PartName], key: str) -> Any:
    """The value, if it is within all limits."""
    for limit in limits:
        if isinstance(limit, PartName):
            _one_of(limit.names(), value, key)
        elif not limit.holds(value):
            raise InputError(f"{key} must be {limit.text}, but it is {value}")
    return value


def _one_of(names: Sequence[str], value: Any, key: str) -> Any:
    if not isinstance(value, str) or value not in names:
        raise InputError(f"{key} must be one of {', '.join(names)}, but it is {value!r}{_nearest(value, names)}")
    return value


def _parse_section(section: Any, value: Any, key: str, also: str) -> Any:
    """A dataclass from a mapping of its fields."""
    hints = get_type_hints(section, include_extras=True)
    found = _section(value, key, also)
    for name, entry in found.items():
        if name not in hints:
            near = _nearest(name, hints) or f"; there are {', '.join(hints)}"
            raise InputError(f"{_join(key, name)} is no setting, but it is set to {entry!r}{near}")
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
        raise InputTypeError(f"{key} must be {WORDS[kind]}{also}, but it is {value!r}")
    return number


def _plain(value: Any, key: str) -> Any:
    """A copy of plain values, as JSON has them."""
    if isinstance(value, dict):
        return {name: _plain(entry, _join(key, str(name))) for name, entry in _section(value, key, "").items()}
    if isinstance(value, list | tuple):
        return [_plain(entry, f"{key}[{place}]") for place, entry in enumerate(value)]
    if not isinstance(value, bool | int | float | str | NoneType) or not _finite(value):
        raise InputTypeError(f"{key} must be text, a finite number, true, false, null or a list, but it is {value!r}")
    return value


def _finite(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _section(value: Any, key: str, also: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputTypeError(f"{key or 'a config'} must hold settings, name: value{also}, but it is {value!r}")
    for name in value:
        if not isinstance(name, str):
            raise InputTypeError(f"{_join(key, str(name))} must have a name that is text, but it is {name!r}")
    return value


def _nearest(name: object, names: Iterable[str]) -> str:
    near = get_close_matches(str(name), names, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _join(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
