"""Take the pictures of the docs: a report, the page of a run, and ``mggcn explore``, the latter two of MG-GCN on Cora.

Needs Cora (in ``$MGGCN_DATA``, or where ``mggcn train cora`` finds it), the extras ``explore`` and ``test``, and a
Chromium on the path: ``python docs/screenshots.py``.
"""

import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

IMAGES = Path(__file__).parent / "images"
RECORDS = Path(__file__).parent.parent / "results" / "accuracy.json"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
TARGET = "1708"
WIDTH, MARGIN = 1100, 12
MGGCN = [sys.executable, "-m", "mggcn"]


def main() -> None:
    """Render the committed report, train on Cora, and take a picture of each page."""
    chromium = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if chromium is None:
        sys.exit(f"none of {', '.join(BROWSERS)} is installed")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        subprocess.run([*MGGCN, "train", "cora", "--out", folder, "--quiet"], check=True)  # noqa: S603
        run = Path(folder) / "cora-mg-gcn-seed0"
        browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        report = Path(folder) / "accuracy.html"
        subprocess.run([*MGGCN, "report", str(RECORDS), "--out", str(report)], check=True)  # noqa: S603
        take(browser, report.as_uri(), "report.png", "h1", "#budgets0")
        take(browser, (run / "report.html").as_uri(), "run-page.png", "h1", "#p0")
        command = [*MGGCN, "explore", str(run), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
            address = server.stdout.readline().split()[4] if server.stdout else ""
            try:
                take(browser, f"{address}#{TARGET}", "explore.png", "#title", "#influence")
            finally:
                server.send_signal(signal.SIGINT)
        browser.close()


def take(browser: Browser, address: str, name: str, first: str, last: str) -> None:
    """Take a picture of a page from one of its elements to another, once all charts have been drawn."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 1000}, reduced_motion="reduce")
    page.goto(address)
    for chart in page.locator(".chart").all():
        chart.locator("svg.marks path").first.wait_for(state="attached")
    page.wait_for_load_state("networkidle")
    top, bottom = page.locator(first).bounding_box(), page.locator(last).bounding_box()
    if top is None or bottom is None:
        sys.exit(f"{address}: {first} or {last} cannot be seen")
    start, height = top["y"] - MARGIN, bottom["y"] + bottom["height"] - top["y"] + 2 * MARGIN
    page.screenshot(path=IMAGES / name, full_page=True, clip={"x": 0, "y": start, "width": WIDTH, "height": height})
    page.close()


if __name__ == "__main__":
    main()
