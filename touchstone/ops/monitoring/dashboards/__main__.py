"""Writes the dashboards where Grafana's provisioning finds them."""

from touchstone.ops.monitoring.dashboards import FOLDER, files

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in files():
        path.write_text(text, encoding="utf-8")
