"""Where the files of deploy/ are: in a checkout, or inside an installed wheel. Nothing else."""

from pathlib import Path
from string import Template

from services.common.errors import Stop

_HERE = Path(__file__).parent


def engine_files() -> Path:
    """The directory with the poms and the configuration templates of the local engines.

    A wheel carries a copy beside this module (pyproject, force-include); an editable install
    has the checkout's deploy/local two levels up.

    Raises:
        Stop: neither is there: the installation is broken.
    """
    for directory in (_HERE / "engines_files", _HERE.parents[1] / "deploy" / "local"):
        if (directory / "pom.xml").is_file():
            return directory
    raise Stop("the files of the local engines are missing; install recrawl again")


def compose_file() -> Path:
    """The Docker Compose file of the two engines."""
    inside = engine_files() / "engines.yaml"
    return inside if inside.is_file() else engine_files().parent / "compose" / "engines.yaml"


def render(template: Path, target: Path, **values: str | int) -> None:
    """Write `target` from `template`; a name without a value is a KeyError."""
    text = Template(template.read_text(encoding="utf-8")).substitute(values)
    target.write_text(text, encoding="utf-8")
