#!/usr/bin/env python3
"""Drives the page of a run, of a profile, of a paper or of a network in headless Chromium through chromedriver's W3C protocol, with the standard library only.

usage: page_test.py PATH/TO/page.html
exit status: 0 passed, 1 failed, 2 usage, 77 skipped (no browser or driver)
"""
import base64
import gzip
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from skips import skipped  # noqa: E402

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Driver:
    def __init__(self, port, chromium, profile):
        self.base = f"http://127.0.0.1:{port}"
        self.failures = []
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

    def expect(self, what, got, wanted):
        print(("ok    " if got == wanted else "FAIL  ") + what + ("" if got == wanted else f": got {got!r}, wanted {wanted!r}"))
        if got != wanted:
            self.failures.append(what)

    def until(self, what, script, wanted, *arguments):
        deadline = time.monotonic() + 10
        while (got := self.js(script, *arguments)) != wanted and time.monotonic() < deadline:
            time.sleep(0.05)
        self.expect(what, got, wanted)

    def set_width(self, width):
        self.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}})

    def expect_no_sideways_scrolling(self, width):
        self.expect(f"no sideways scrolling of the page at {width} pixels",
                    self.js("return document.documentElement.scrollWidth <= document.documentElement.clientWidth"), True)

    def expect_no_sideways_scrolling_of_windows(self):
        for width in (1400, 500):
            self.call("POST", "/window/rect", {"width": width, "height": 1000})
            self.expect_no_sideways_scrolling(width)

    def expect_figures_and_style(self, page):
        self.expect("the policy let the style in", self.js("return getComputedStyle(document.querySelector('h1')).fontSize"), "24px")
        self.expect("every figure is drawn", self.js("return document.querySelectorAll('figure svg').length"), page.count("<svg xmlns"))

    def expect_quiet(self, what, levels=None):
        log = self.call("POST", "/se/log", {"type": "browser"})
        self.expect(what, [entry["message"] for entry in log if levels is None or entry["level"] in levels], [])

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


def unpack(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


def cases_of(page):
    """The cases as the page's script reads them: columns with texts by index."""
    columns = unpack(re.search(r'data-page="cases">([^<]*)<', page)[1])
    cases = []
    for i in range(len(columns["regimes"])):
        case = {key: columns[key][i] for key in ("predicted", "cold", "warm", "error", "speedup")}
        for key in ("study", "shape", "name", "group", "status", "note", "limiter"):
            at = columns[key]["index"][i]
            case[key] = None if at < 0 else columns[key]["texts"][at]
        case["id"] = i
        regimes = columns["regimes"][i]
        case["regime"] = (regimes[3] if regimes[3] != "-" else regimes[2]).replace("-", "")
        case["size"] = columns["gfma"][columns["shape"]["index"][i]]
        case["baseline"] = columns["baseline"][columns["group"]["index"][i]] == 1
        cases.append(case)
    return cases


GRID = "return [...document.querySelectorAll('#grid tbody tr[data-case]')].map(r => Number(r.dataset.case))"
MARKS = ("return [...document.querySelectorAll(arguments[0] + ' path.marks')]"
         ".map(p => (p.getAttribute('d') ?? '').split(/(?=M)/).filter(Boolean).length).reduce((a, b) => a + b, 0)")


LARGE = 5000  # cases, from which a page may weigh more


def seconds_to_open(driver):
    """Until the script has drawn everything, the least of three times: other programs may be busy."""
    url, times = driver.js("return location.href.split('#')[0]"), []
    for _ in range(3):
        began = time.monotonic()
        driver.call("POST", "/url", {"url": url})
        while driver.js("return document.documentElement.dataset.ready ?? ''") != "1" and time.monotonic() < began + 60:
            time.sleep(0.02)
        times.append(time.monotonic() - began)
    print("opens in " + ", ".join(f"{seconds:.2f}" for seconds in times) + " s")
    return min(times)


def check_interactions(driver, cases):
    """Each way to ask the page for less, or to move in it, that a reader has."""
    expect, until = driver.expect, driver.until
    shown = "return document.getElementById('shown').textContent"

    def said(wanted):
        return f"{sum(map(bool, map(wanted, cases)))} of {len(cases)} cases shown"

    def choose(selector, value):
        driver.js("const f = document.querySelector(arguments[0]); f.value = arguments[1];"
                  "f.dispatchEvent(new Event('input', {bubbles: true}))", selector, value)

    for key in ("study", "group", "status", "regime"):
        values = sorted({case[key] for case in cases} - {None, ""})
        if len(values) < 2:
            continue
        choose(f"#of-{key}", values[-1])
        expect(f"the choice of a {key} keeps its cases", driver.js(shown), said(lambda case: case[key] == values[-1]))
        choose(f"#of-{key}", "")
    choose("#least-error", "20")
    expect("so does the least error", driver.js(shown), said(lambda case: case["error"] is not None and abs(case["error"]) >= 0.2))
    choose("#least-error", "")
    choose("#least-size", "0.5")
    choose("#most-size", "2")
    expect("and the size", driver.js(shown), said(lambda case: 0.5 <= (case["size"] or 0) <= 2))
    driver.click(".filters button[type=reset]")
    until("clear takes all of it back", shown, f"{len(cases)} of {len(cases)} cases shown")

    press = "arguments[0].forEach(key => document.getElementById('grid').dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})))"
    rows = driver.js(GRID)
    driver.js("document.getElementById('grid').focus(); " + press, ["Home", "ArrowDown", "ArrowDown", "Enter"])
    until("arrows and Enter open a row of the table", "return location.hash", f"#case={rows[2]}")
    until("whose view has the focus", "return document.activeElement?.className ?? ''", "shut")
    driver.click('#case button[aria-label="the next case"]')
    until("the next case is one tap away", "return location.hash", f"#case={rows[3]}")
    until("and drawn", "return document.querySelector('#case h2')?.textContent ?? ''", cases[rows[3]]["shape"])
    until("the button that was pressed keeps the focus", "return document.activeElement?.getAttribute('aria-label') ?? ''", "the next case")
    expect("the page behind cannot be reached", driver.js("return document.querySelector('main').inert"), True)
    driver.js("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))")
    until("Escape closes it", "return document.getElementById('case').hidden", True)
    until("and the focus is where it was", "return document.activeElement?.id ?? ''", "grid")
    expect("and the page is there again", driver.js("return document.querySelector('main').inert"), False)

    entry = "[...document.querySelectorAll(arguments[0] + ' .legend')].find(e => e.textContent.trim() === arguments[1])"
    if any(case["regime"] == "e" for case in cases) and len({case["regime"] for case in cases} - {""}) > 1:
        tap = entry + ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
        driver.js(tap, "#f-predicted_vs_measured", "exposed")
        expect("a regime in a legend is a filter", driver.js(shown), said(lambda case: case["regime"] == "e"))
        driver.js(tap, "#f-predicted_vs_measured", "exposed")
        expect("which another tap takes back", driver.js(shown), f"{len(cases)} of {len(cases)} cases shown")
    hidden = "return [...document.querySelectorAll('#f-error_cdf svg > g')].filter(g => g.style.display === 'none').length"
    driver.js(entry + ".dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))", "#f-error_cdf", "MWP-CWP")
    expect("the key Enter on a legend hides its series", driver.js(hidden), 1)
    driver.js(entry + ".dispatchEvent(new KeyboardEvent('keydown', {key: ' ', bubbles: true}))", "#f-error_cdf", "MWP-CWP")
    expect("and the space bar shows it", driver.js(hidden), 0)

    expect("each part of the page is there", driver.js(
        "return [...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.hash)).length"), 0)
    driver.click('nav a[href="#cases"]')
    until("a link leads to a part", "return Math.abs(document.getElementById('cases').getBoundingClientRect().top) < innerHeight / 2", True)
    driver.js("document.querySelectorAll('main details').forEach(d => { d.open = true; })")
    expect("with everything opened there are still few elements", driver.js("return document.querySelectorAll('*').length") < 20000, True)
    driver.js("document.querySelectorAll('main details').forEach(d => { d.open = false; })")


def check_media(driver):
    """Both themes, and paper."""
    def emulate(media, theme):
        driver.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
            "media": media, "features": [{"name": "prefers-color-scheme", "value": theme}]}})
        return driver.js("return getComputedStyle(document.body).backgroundColor")

    driver.expect("two themes", len({emulate("", "light"), emulate("", "dark")}), 2)
    emulate("print", "light")
    driver.expect("on paper there is no table of rows that scroll", driver.js("return getComputedStyle(document.getElementById('grid')).display"), "none")
    emulate("", "light")


def check_page(driver, page):
    cases = cases_of(page)
    by_id = {case["id"]: case for case in cases}
    expect, until = driver.expect, driver.until

    until("the script has read the cases", "return document.documentElement.dataset.ready ?? ''", "1")
    expect("the policy let the style in", driver.js("return getComputedStyle(document.querySelector('h1')).fontSize"), "24px")
    expect("few elements, however many cases", driver.js("return document.querySelectorAll('*').length") < 20000, True)
    large = len(cases) >= LARGE
    expect(f"{len(page.encode()):,} bytes are no more than allowed", len(page.encode()) < (8e6 if large else 1.5e6), True)
    expect("it opens in under 3 s", seconds_to_open(driver) < 3.0, True)
    expect("only rows in view exist", len(driver.js(GRID)) <= 80, True)
    expect("all cases are counted", driver.js("return document.getElementById('shown').textContent"),
           f"{len(cases)} of {len(cases)} cases shown")
    points = [case["id"] for case in cases if not case["baseline"] and case["error"] is not None]
    for figure in ("predicted_vs_measured", "by_strategy"):
        expect(f"a mark for every case in {figure}", driver.js(MARKS, f"#f-{figure}"), len(points))

    def order(key, down, of):
        value = lambda case: abs(case[key]) if key == "error" and case[key] is not None else case[key]
        known = sorted((value(case) for case in of if case[key] is not None), reverse=down)
        return known + [None] * (len(of) - len(known))

    def shown_values(key):
        return [None if by_id[i][key] is None else abs(by_id[i][key]) if key == "error" else by_id[i][key] for i in driver.js(GRID)]

    key = "cold" if any(case["cold"] is not None for case in cases) else "predicted"  # columns that no case has are not there
    button = f'#grid th[data-key="{key}"] button'
    driver.click(button)
    first = shown_values(key)
    expect("a click on a column sorts up, blanks last", first, order(key, False, cases)[:len(first)])
    expect("aria-sort says so", driver.js("return document.querySelector(arguments[0]).ariaSort", f"#grid th[data-key={key}]"), "ascending")
    driver.type(button, "\ue007")
    first = shown_values(key)
    expect("the Enter key sorts down", first, order(key, True, cases)[:len(first)])
    if points:
        driver.click('#grid th[data-key="abs_error"] button')
        first = shown_values("error")
        expect("errors sort by size, the largest first", first, order("error", True, cases)[:len(first)])
    driver.js("const g = document.getElementById('grid'); g.scrollTop = g.scrollHeight")
    until("scrolling reaches the last row", "return document.querySelector('#grid tbody tr.space:last-child td').parentElement.style.height", "0px")

    if cases:
        word = cases[0]["shape"]
        driver.type("#filter", word)
        of_word = [case for case in cases if word in case["shape"]]
        expect("the text filter keeps what holds the word", driver.js("return document.getElementById('shown').textContent"),
               f"{len(of_word)} of {len(cases)} cases shown")
        expect("and the figures follow", driver.js(MARKS, "#f-by_strategy"), sum(case["id"] in set(points) for case in of_word))
        driver.click(".filters button[type=reset]")
        until("clear shows all again", "return document.getElementById('shown').textContent", f"{len(cases)} of {len(cases)} cases shown")

    if points:
        check_interactions(driver, cases)
        check_media(driver)
        group = by_id[points[0]]["group"]
        driver.click(f'tr[data-strategy="{group}"] button')
        of_group = sum(case["group"] == group for case in cases)
        expect("which stands in the navigation", driver.js("return [document.getElementById('chip').hidden, document.getElementById('chip').textContent]"),
               [False, f"{group} · {of_group} of {len(cases)} · clear ×"])
        expect("and on its button", driver.js("return document.querySelector(arguments[0]).getAttribute('aria-pressed')",
                                              f'tr[data-strategy="{group}"] button'), "true")
        expect("a click on a strategy shows it alone", driver.js("return document.getElementById('shown').textContent"),
               f"{of_group} of {len(cases)} cases shown")
        driver.click(f'tr[data-strategy="{group}"] button')
        expect("the navigation no longer says so", driver.js("return document.getElementById('chip').hidden"), True)
        expect("and another shows all", driver.js(MARKS, "#f-by_strategy"), len(points))

        def point_at(figure, id):
            """Client coordinates of a mark."""
            return driver.js("""
                for (const path of document.querySelectorAll(arguments[0] + ' path.marks')) {
                  const at = path.dataset.cases.split(',').indexOf(String(arguments[1]));
                  if (at < 0) continue;
                  path.ownerSVGElement.scrollIntoView({ block: 'center' });
                  const [, x, y] = /^M\\s*(-?[\\d.]+)[ ,]*(-?[\\d.]+)/.exec(path.getAttribute('d').split(/(?=M)/)[at]);
                  const place = () => new DOMPoint(x, y).matrixTransform(path.ownerSVGElement.getScreenCTM());
                  scrollBy(0, place().y - innerHeight / 2); // a figure may be higher than the window
                  return [Math.round(place().x), Math.round(place().y)];
                }""", figure, id)

        def move(x, y, *more):
            driver.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
                {"type": "pointerMove", "duration": 0, "x": x, "y": y}, *more]}]})

        # A mark that stands alone: what lies nearer to the pointer than it would be named instead. Of these the largest error.
        places = driver.js("""
            const all = [];
            for (const path of document.querySelectorAll(arguments[0] + ' path.marks'))
              path.getAttribute('d').split(/(?=M)/).forEach((mark, i) => {
                const [, x, y] = /^M\\s*(-?[\\d.]+)[ ,]*(-?[\\d.]+)/.exec(mark);
                all.push([Number(path.dataset.cases.split(',')[i]), Number(x), Number(y)]);
              });
            return all;""", "#f-relative_error")
        by_error = sorted(places, key=lambda place: -abs(by_id[place[0]]["error"]))
        id = next(i for i, x, y in by_error if i in points and all(
            other == i or max(abs(x - left), abs(y - top)) > 8 for other, left, top in places))
        move(*point_at("#f-relative_error", id))
        until("hovering over a mark names its case", "return document.getElementById('lit').textContent.startsWith(arguments[0])", True,
              f"{by_id[id]['shape']} {by_id[id]['name']}")
        expect("and rings it in the other figures", driver.js("return document.querySelectorAll('#f-predicted_vs_measured .ring').length"), 1)
        before = driver.js("return scrollY")
        move(*point_at("#f-relative_error", id), {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})
        until("a click opens the case", "return document.getElementById('case').hidden", False)
        until("with its shape", "return document.querySelector('#case h2')?.textContent ?? ''", by_id[id]["shape"])
        expect("its address is its own", driver.js("return location.hash"), f"#case={id}")
        expect("its bars are drawn", driver.js("return document.querySelectorAll('#case .bars i').length") > 1, True)
        expect("its tree is made where it is opened", driver.js(
            "const d = document.querySelectorAll('#case .tree details'); const n = d.length;"
            "d[d.length - 1].open = true; return n > 0"), True)
        driver.call("POST", "/back", {})
        until("back closes it", "return document.getElementById('case').hidden", True)
        driver.call("POST", "/url", {"url": driver.js("return location.href.split('#')[0]") + f"#case={id}"})
        until("a link leads to it", "return document.querySelector('#case h2')?.textContent ?? ''", by_id[id]["shape"])
        driver.click("#case .shut")
        until("and can be closed", "return document.getElementById('case').hidden", True)
        driver.click("button.word")
        expect("a word explains itself", driver.js("return !document.getElementById('meaning').hidden && document.getElementById('meaning').textContent.length > 20"), True)

    for width in (2560, 1440, 1024, 390, 360):
        driver.set_width(width)
        driver.expect_no_sideways_scrolling(width)
        if points and width >= 390:
            zero = driver.js("const a = document.querySelector('.strips .axis span:nth-child(2)').getBoundingClientRect(),"
                             "z = document.querySelector('.strip .zero').getBoundingClientRect();"
                             "return Math.abs((a.left + a.right - z.left - z.right) / 2)")
            expect(f"the zero of the strips stands above their line at {width} pixels", zero < 1.5, True)
        if width == 390 and cases:
            expect("a phone shows the time and the error of a case", driver.js(
                "const g = document.getElementById('grid'), r = g.querySelector('tr[data-case]'), w = g.getBoundingClientRect();"
                "return ['shape', 'cold', 'abs_error'].every(k => { const c = r.querySelector(`td[data-key=${k}]`)?.getBoundingClientRect();"
                "return !c || c.width > 0 && c.right <= w.right + 1; })"), True)
    driver.expect_quiet("the console has no errors", ("SEVERE", "WARNING"))


def check_profile_page(driver, page):
    numbers = [{"id": int(n), "group": group, "name": name, "interval": float(interval) if interval else None}
               for n, group, name, interval in re.findall(
                   r'<tr id="c(\d+)"[^>]*data-group="([^"]*)"[^>]*><th scope="row">([^<]*)</th><td>.*?</td><td .*?</td>'
                   r'<td data-sort="([^"]*)">', page)]
    expect = driver.expect
    def rows():
        return driver.js(VISIBLE + ".map(r => Number(r.dataset.case))")

    expect("there are numbers", len(numbers) > 0, True)
    expect("a row for every number", rows(), [n["id"] for n in numbers])
    driver.expect_figures_and_style(page)
    driver.click('th[data-key="name"] button')
    expect("a click on a column sorts up", [numbers[i]["name"] for i in rows()], sorted(n["name"] for n in numbers))
    driver.click('th[data-key="interval"] button')
    expect("numbers without an interval come last", [numbers[i]["interval"] for i in rows()],
           sorted(n["interval"] for n in numbers if n["interval"] is not None) +
           [None] * sum(n["interval"] is None for n in numbers))
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
    time.sleep(0.3)
    cells = driver.js("return [...document.querySelector('#c0').cells].map(cell => (cell.cellIndex === 7 ? cell : cell.firstChild).textContent)")
    interval = "" if cells[3] == "–" else f", 95\u00a0% interval {cells[3]}"
    expect("hovering says which number it is", driver.js("return document.querySelector('#lit').textContent"),
           f"{numbers[0]['name']}: {cells[2]}{interval}, {cells[7]}")
    driver.expect_no_sideways_scrolling_of_windows()
    driver.expect_quiet("the console has no errors", ("SEVERE", "WARNING"))


def check_any_page(driver, page):
    """What holds of a page of every kind."""
    expect = driver.expect
    if "dataset.ready" in page:
        driver.until("the script ran to its end", "return document.documentElement.dataset.ready ?? ''", "1")
    expect("no id stands twice", driver.js("const ids = [...document.querySelectorAll('[id]')].map(e => e.id);"
                                           "return ids.filter((id, i) => ids.indexOf(id) !== i)"), [])
    expect("the policy let the style in", driver.js("return getComputedStyle(document.querySelector('h1')).fontSize"), "24px")
    for width in (2560, 1280, 390):
        driver.set_width(width)
        expect(f"the navigation is whole at {width} pixels", driver.js(
            "const n = document.querySelector('nav'); return !n || n.scrollWidth <= n.clientWidth"), True)
        if width == 2560:
            expect("a wide screen is filled", driver.js("return document.body.getBoundingClientRect().width > 0.9 * innerWidth"), True)
    driver.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.clearDeviceMetricsOverride", "params": {}})
    driver.expect_quiet("the console is empty where it opens")


def check_network_page(driver, page):
    expect = driver.expect
    driver.expect_figures_and_style(page)
    expect("each part of the page is there", driver.js(
        "return [...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.hash)).length"), 0)
    expect("there are tiles", driver.js("return document.querySelectorAll('.tile').length") > 2, True)
    bars = (".marks[data-labels]", "[...document.querySelectorAll(arguments[0])].find(p => p.getBoundingClientRect().width > 0 && /v[\\d.]+H/.test(p.getAttribute('d')))")
    if driver.js("return !!" + bars[1], bars[0]):
        x, y, label = driver.js("const p = " + bars[1] + "; p.ownerSVGElement.scrollIntoView({block: 'center'});"
                                "const b = /M([\\d.]+) ([\\d.]+)H([\\d.]+)v([\\d.]+)/.exec(p.getAttribute('d')).slice(1).map(Number);"
                                "const at = new DOMPoint((b[0] + b[2]) / 2, b[1] + b[3] / 2).matrixTransform(p.ownerSVGElement.getScreenCTM());"
                                "return [Math.round(at.x), Math.round(at.y), p.dataset.labels.split('\\n')[0]]", bars[0])
        driver.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
            {"type": "pointerMove", "duration": 0, "x": x, "y": y}]}]})
        time.sleep(0.3)
        expect("hovering over a bar names it", driver.js("return document.getElementById('lit').textContent"), label)
    entries = driver.js("return [...document.querySelectorAll('.legend[role=button]')].filter(e => e.getBoundingClientRect().width > 0).length")
    if "<g class=\"legend\"" in page:
        expect("entries of the legends can be pressed", entries > 0, True)
    if entries:
        driver.js("const e = [...document.querySelectorAll('.legend[role=button]')].find(e => e.getBoundingClientRect().width > 0);"
                  "e.id = 'tapped'; e.dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        expect("a tap on one hides its series", driver.js(
            "const e = document.getElementById('tapped'); const g = e.ownerSVGElement;"
            "return [e.ariaPressed, [...g.children].filter(c => c.style.display === 'none').length > 0]"), ["false", True])
    for width in (2560, 1440, 1024, 390, 360):
        driver.set_width(width)
        driver.expect_no_sideways_scrolling(width)
        if width == 390:
            expect("the text of its figures can be read", driver.js(
                "return [...document.querySelectorAll('svg.figure')].filter(s => s.getBoundingClientRect().width > 0)"
                ".every(s => 12.5 * s.getScreenCTM().a > 11.5)"), True)
    driver.expect_quiet("the console has no errors", ("SEVERE", "WARNING"))


def check_paper_page(driver, page):
    expect = driver.expect
    driver.expect_figures_and_style(page)
    expect("every link of the page leads somewhere", driver.js(
        "return [...document.querySelectorAll('a[href^=\\'#\\']')].map(a => a.hash).filter(h => !document.querySelector(h))"), [])
    driver.expect_no_sideways_scrolling_of_windows()
    driver.expect_quiet("the console has no errors", ("SEVERE", "WARNING"))


def main():
    if len(sys.argv) != 2 or not os.path.isfile(sys.argv[1]):
        print(__doc__, file=sys.stderr)
        return 2
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        name = "/".join(pathlib.Path(sys.argv[1]).resolve().parts[-2:])
        skipped(f"browser_test.{name}", "a browser is not installed", "chromium", "chromium-driver")
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
            check = check_profile_page if 'class="of-numbers"' in text else check_paper_page if 'class="claims"' in text else check_page if 'data-page="cases">' in text else check_network_page
            check_any_page(driver, text)
            check(driver, text)
        finally:
            if driver is not None:
                driver.call("DELETE", "")
            server.terminate()
            server.wait()
    print(f"{len(driver.failures)} failed" if driver.failures else "all passed")
    return 1 if driver.failures else 0


if __name__ == "__main__":
    sys.exit(main())
