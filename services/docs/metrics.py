"""docs/metrics.md from the declared metrics."""

from prometheus_client.metrics import MetricWrapperBase

from services.common import metrics

_HEAD = """# Metrics

Made from services/common/metrics.py by `make docs`. Every service answers `/metrics` on its
health port. No label grows with hosts or URLs.

| name | type | labels | meaning |
|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    rows = []
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            described = next(iter(metric.describe()))
            name = described.name + ("_total" if described.type == "counter" else "")
            labels = ", ".join(f"`{label}`" for label in metric._labelnames)  # noqa: SLF001 - no public way
            rows.append(f"| `{name}` | {described.type} | {labels} | {described.documentation} |")
    return _HEAD + "\n".join(sorted(rows)) + "\n"
