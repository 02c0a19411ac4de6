"""Write every generated page, schema and example: `python -m services.docs`."""

from services.docs import pages

if __name__ == "__main__":
    for path, text in pages.render().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
