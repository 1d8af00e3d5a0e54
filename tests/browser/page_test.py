#!/usr/bin/env python3
"""Drives the page of a run, of a profile or of a paper in headless Chromium through chromedriver's W3C protocol, with the standard library only.

usage: page_test.py PATH/TO/page.html
exit status: 0 passed, 1 failed, 2 usage, 77 skipped (no browser or driver)
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Driver:
    def __init__(self, port, chromium, profile):
        self.base = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 20
        while True:
            try:
                self.call("GET", "/status")
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--window-size=1400,1000", f"--user-data-dir={profile}"]
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"binary": chromium, "args": flags}, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.base += f"/session/{answer['sessionId']}"

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        # No proxy from the environment: the driver is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {json.load(error)['value']['message']}") from None

    def js(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        # In the middle: not below the heads of the table or the line at the bottom, which stay in place.
        self.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        self.call("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.call("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def hover(self, element):
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
            {"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": {ELEMENT: element}}]}]})


VISIBLE = "return [...document.querySelectorAll('#table tbody tr')].filter(r => !r.hidden)"


def check_page(driver, page):
    cases = json.loads(re.search(r'<script type="application/json" id="cases">(.*?)</script>', page, re.S)[1])
    failures = []

    def expect(what, got, wanted):
        print(("ok    " if got == wanted else "FAIL  ") + what + ("" if got == wanted else f": got {got!r}, wanted {wanted!r}"))
        if got != wanted:
            failures.append(what)

    def rows():
        return driver.js(VISIBLE + ".map(r => Number(r.dataset.case))")

    expect("a row for every case", rows(), [case["id"] for case in cases])
    points = [case["id"] for case in cases if not case["baseline"] and "error" in case]
    for figure in ("predicted_vs_measured", "relative_error"):
        drawn = driver.js("return [...document.querySelectorAll(arguments[0])].map(m => Number(m.dataset.case))",
                          f"#f-{figure} svg [data-case]")
        expect(f"a point for every case in {figure}", sorted(drawn), points)
    expect("the policy let the style in", driver.js("return getComputedStyle(document.querySelector('h1')).fontSize"), "25.6px")

    if points:
        case = next(c for c in cases if c["id"] == points[0])
        mark = f'#f-relative_error [data-case="{case["id"]}"]'
        driver.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", mark)
        lit = None
        # Another mark may lie on top of the first: take the first one whose middle is its own.
        for case in (c for c in cases if c["id"] in set(points)):
            mark = f'#f-relative_error [data-case="{case["id"]}"]'
            driver.hover(driver.find(mark))
            lit = driver.js("return document.querySelector('#lit').textContent")
            if lit == case["text"]:
                break
        expect("hovering over a point says which case it is", lit, case["text"])
        expect("and lights its row", driver.js("return [...document.querySelectorAll('tr.lit')].map(r => Number(r.dataset.case))"),
               [case["id"]])
        expect("and its mark in the other figure",
               driver.js("return document.querySelectorAll('#f-predicted_vs_measured .lit').length"), 1)
        driver.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", f"#c{case['id']}")
        driver.hover(driver.find(f"#c{points[-1]} th"))
        expect("hovering over a row lights its point",
               driver.js("return [...document.querySelectorAll('#f-relative_error .lit')].map(m => Number(m.dataset.case))"),
               [points[-1]])
        driver.click(f"#c{case['id']} td:last-child a")
        expect("a click opens how the forecast comes about", driver.js("return document.getElementById(arguments[0]).open",
                                                                     f"w{case['id']}"), True)

    def order(key, down):
        known = sorted((c[key] for c in cases if key in c), reverse=down)
        return known + [None] * (len(cases) - len(known))

    by_id = {c["id"]: c for c in cases}
    button = 'th[data-key="cold_s"] button'
    driver.click(button)
    expect("a click on a column sorts up, blanks last", [by_id[i].get("cold_s") for i in rows()], order("cold_s", False))
    expect("aria-sort says so", driver.js("return document.querySelector('th[data-key=cold_s]').ariaSort"), "ascending")
    driver.type(button, "\ue007")
    expect("the Enter key sorts down", [by_id[i].get("cold_s") for i in rows()], order("cold_s", True))

    if cases:
        word = cases[0]["shape"]
        driver.type("#filter", word)
        expect("the text filter keeps what holds the word", set(rows()), {c["id"] for c in cases if word in c["shape"]})
        expect("and says how many", driver.js("return document.getElementById('shown').textContent"),
               f"{len(rows())} of {len(cases)} cases shown")
        driver.js("const f = document.getElementById('filter'); f.value = ''; f.dispatchEvent(new Event('input', {bubbles: true}))")
        group = cases[0]["group"]
        driver.click(f'input[data-group="{group}"]')
        expect("a strategy can be unticked", set(rows()), {c["id"] for c in cases if c["group"] != group})
        if points:
            expect("its points go too", driver.js(
                "return [...document.querySelectorAll('#f-relative_error [data-case]')].filter(m => m.getAttribute('visibility') !== 'hidden').length"),
                sum(by_id[i]["group"] != group for i in points))
        driver.click(f'input[data-group="{group}"]')
        status = cases[0]["status"]
        driver.click(f'input[data-status="{status}"]')
        expect("a status can be unticked", set(rows()), {c["id"] for c in cases if c["status"] != status})

    for width in (1400, 420):
        driver.call("POST", "/window/rect", {"width": max(width, 500), "height": 1000})
        expect(f"no sideways scrolling of the page at {max(width, 500)} pixels",
               driver.js("return document.documentElement.scrollWidth <= document.documentElement.clientWidth"), True)
    log = driver.call("POST", "/se/log", {"type": "browser"})
    expect("the console has no errors", [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")], [])
    return failures


def check_profile_page(driver, page):
    numbers = json.loads(re.search(r'<script type="application/json" id="cases">(.*?)</script>', page, re.S)[1])
    failures = []

    def expect(what, got, wanted):
        print(("ok    " if got == wanted else "FAIL  ") + what + ("" if got == wanted else f": got {got!r}, wanted {wanted!r}"))
        if got != wanted:
            failures.append(what)

    def rows():
        return driver.js(VISIBLE + ".map(r => Number(r.dataset.case))")

    expect("a row for every number", rows(), [n["id"] for n in numbers])
    expect("the policy let the style in", driver.js("return getComputedStyle(document.querySelector('h1')).fontSize"), "25.6px")
    expect("every figure is drawn", driver.js("return document.querySelectorAll('figure svg').length"),
           page.count('<svg xmlns'))
    driver.click('th[data-key="name"] button')
    expect("a click on a column sorts up", [numbers[i]["name"] for i in rows()], sorted(n["name"] for n in numbers))
    driver.click('th[data-key="interval"] button')
    expect("numbers without an interval come last", [numbers[i].get("interval") for i in rows()],
           sorted(n["interval"] for n in numbers if "interval" in n) + [None] * sum("interval" not in n for n in numbers))
    driver.type("#filter", "latency")
    expect("the filter keeps what holds the word", {numbers[i]["name"] for i in rows()} >=
           {n["name"] for n in numbers if "latency" in n["name"]}, True)
    expect("and says how many", driver.js("return document.getElementById('shown').textContent"),
           f"{len(rows())} of {len(numbers)} numbers shown")
    driver.js("const f = document.getElementById('filter'); f.value = ''; f.dispatchEvent(new Event('input', {bubbles: true}))")
    driver.click('input[data-group="latency"]')
    expect("a family can be unticked", set(rows()), {n["id"] for n in numbers if n["group"] != "latency"})
    driver.click('input[data-group="latency"]')
    driver.js("document.querySelector('#c0').scrollIntoView({block: 'center'})")
    driver.hover(driver.find("#c0 th"))
    expect("hovering says which number it is", driver.js("return document.querySelector('#lit').textContent"), numbers[0]["text"])
    for width in (1400, 500):
        driver.call("POST", "/window/rect", {"width": width, "height": 1000})
        expect(f"no sideways scrolling of the page at {width} pixels",
               driver.js("return document.documentElement.scrollWidth <= document.documentElement.clientWidth"), True)
    log = driver.call("POST", "/se/log", {"type": "browser"})
    expect("the console has no errors", [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")], [])
    return failures


def check_paper_page(driver, page):
    failures = []

    def expect(what, got, wanted):
        print(("ok    " if got == wanted else "FAIL  ") + what + ("" if got == wanted else f": got {got!r}, wanted {wanted!r}"))
        if got != wanted:
            failures.append(what)

    expect("the policy let the style in", driver.js("return getComputedStyle(document.querySelector('h1')).fontSize"), "25.6px")
    expect("every figure is drawn", driver.js("return document.querySelectorAll('figure svg').length"), page.count("<svg xmlns"))
    expect("every link of the page leads somewhere", driver.js(
        "return [...document.querySelectorAll('a[href^=\\'#\\']')].map(a => a.hash).filter(h => !document.querySelector(h))"), [])
    for width in (1400, 500):
        driver.call("POST", "/window/rect", {"width": width, "height": 1000})
        expect(f"no sideways scrolling of the page at {width} pixels",
               driver.js("return document.documentElement.scrollWidth <= document.documentElement.clientWidth"), True)
    log = driver.call("POST", "/se/log", {"type": "browser"})
    expect("the console has no errors", [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")], [])
    return failures


def main():
    if len(sys.argv) != 2 or not os.path.isfile(sys.argv[1]):
        print(__doc__, file=sys.stderr)
        return 2
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        print("skipped: no " + ("chromium" if chromium is None else "chromedriver") + " on PATH")
        return 77
    page = pathlib.Path(sys.argv[1]).resolve()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        server = subprocess.Popen([chromedriver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        driver = None
        try:
            driver = Driver(port, chromium, profile)
            driver.call("POST", "/url", {"url": page.as_uri()})
            text = page.read_text(encoding="utf-8")
            check = check_profile_page if 'class="of-numbers"' in text else check_paper_page if 'class="claims"' in text else check_page
            failures = check(driver, text)
        finally:
            if driver is not None:
                driver.call("DELETE", "")
            server.terminate()
            server.wait()
    print(f"{len(failures)} failed" if failures else "all passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
