from pathlib import Path

from pfgnn.report.curves import draw_curves


def test_curves_are_drawn(tmp_path: Path) -> None:
    draw_curves({"one": [0.1, 0.2, 0.3], "two": [0.5] * 40}, 0.1, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
