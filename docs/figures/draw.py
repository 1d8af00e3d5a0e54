#!/usr/bin/env python3
"""Draws the figures of docs/model.md and docs/equations.md as SVG, the same bytes each time.

    draw.py            writes docs/figures/*.svg
    draw.py --check    exit code 1 names a file that is not what this draws

Each figure has a background of its own, so that it can be read on a light page and on a dark one.
"""
import pathlib
import sys
from html import escape

HERE = pathlib.Path(__file__).resolve().parent

STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de; }
  text { font-family: system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif; font-size: 14px; fill: #1f2328; }
  .small { font-size: 12px; fill: #59636e; }
  .bold { font-weight: 600; }
  .box { fill: #eef2f7; stroke: #8c959f; }
  .data { fill: #ffffff; stroke: #8c959f; stroke-dasharray: 4 3; }
  .line { stroke: #59636e; stroke-width: 1.5; fill: none; }
  .thin { stroke: #afb8c1; stroke-width: 1; fill: none; }
  .dash { stroke: #59636e; stroke-width: 1.2; stroke-dasharray: 5 4; fill: none; }
  .head { fill: #59636e; }
  .fill { fill: #f2b84b; } .work { fill: #4c8bd0; } .end { fill: #62a87c; } .idle { fill: none; stroke: #8c959f; stroke-dasharray: 3 3; }
  .window { fill: #4c8bd0; fill-opacity: 0.18; }
  .curve { stroke: #2f6fb3; stroke-width: 2; fill: none; } .dot { fill: #2f6fb3; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #161b22; stroke: #3d444d; }
    text { fill: #e6edf3; }
    .small { fill: #aab4bf; }
    .box { fill: #232b36; stroke: #6e7681; }
    .data { fill: #161b22; stroke: #6e7681; }
    .line, .dash { stroke: #aab4bf; } .head { fill: #aab4bf; }
    .thin { stroke: #4b535d; }
    .idle { stroke: #6e7681; }
    .curve { stroke: #79b8ff; } .dot { fill: #79b8ff; }
  }
"""


class Drawing:
    def __init__(self, width, height, title):
        self.size, self.title, self.parts = (width, height), title, []
        self.add(f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>')

    def add(self, text):
        self.parts.append(text)

    def rect(self, x, y, width, height, style, radius=3):
        self.add(f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}"/>')

    def text(self, x, y, text, style="", anchor="middle"):
        kind = f' class="{style}"' if style else ""
        self.add(f'<text{kind} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>')

    def line(self, points, style="line"):
        self.add(f'<path class="{style}" d="M' + " L".join(f"{x:g} {y:g}" for x, y in points) + '"/>')

    def arrow(self, points):
        self.line(points)
        (x0, y0), (x1, y1) = points[-2:]
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        dx, dy = (x1 - x0) / length, (y1 - y0) / length
        corners = [(x1, y1), (x1 - 9 * dx - 4 * dy, y1 - 9 * dy + 4 * dx), (x1 - 9 * dx + 4 * dy, y1 - 9 * dy - 4 * dx)]
        self.add('<path class="head" d="M' + " L".join(f"{x:.4g} {y:.4g}" for x, y in corners) + ' Z"/>')

    def circle(self, x, y, radius, style):
        self.add(f'<circle class="{style}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>')

    def svg(self):
        width, height = self.size
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">\n'
                f"<title>{escape(self.title)}</title>\n<style>{STYLE}</style>\n" + "\n".join(self.parts) + "\n</svg>\n")


def stages():
    d = Drawing(980, 290, "Stages of a forecast: shape, plan, counts, counts as compiled, time, regime")
    boxes = [("shape", "sizes of tensors", ""), ("plan", "grids, waves,", "resident CTAs"), ("counts", "from the source", "and addresses"),
             ("counts\nas compiled", "instructions, reads", ""), ("time", "a tree of terms,", "an interval"),
             ("regime", "what hides", "the latency")]
    equations = ["", "O1 O2 F9 F18 F19", "W3–W10 F12 F13", "W1 W2 W6", "F1–F33 M1 S1 I1 I2", "R1–R5"]
    given = [("a convolution", "", 0), ("strategy, knobs", "and GPU limits", 1), ("facts", "from counters", 3),
             ("profile (probes),", "calibration (times)", 4)]
    width, gap, left, top, height = 138, 22, 21, 120, 84
    at = lambda i: left + i * (width + gap)
    for i, (name, first, second) in enumerate(boxes):
        d.rect(at(i), top, width, height, "box", 6)
        x = at(i) + width / 2
        title = name.split("\n")
        for k, line in enumerate(title):
            d.text(x, top + 26 + 18 * k, line, "bold")
        d.text(x, top + 48 + 18 * (len(title) - 1), first, "small")
        d.text(x, top + 65, second, "small")
        d.text(x, top + height + 22, equations[i], "small")
        if i:
            d.arrow([(at(i) - gap, top + height / 2), (at(i), top + height / 2)])
    for first, second, i in given:
        x = at(i) + width / 2
        d.rect(at(i), 24, width, 52, "data", 6)
        d.text(x, 46 if second else 55, first, "small")
        d.text(x, 64, second, "small")
        d.arrow([(x, 76), (x, top)])
    d.text(left, 266, "dashed: what a forecast is given", "small", "start")
    d.text(left + 6 * width + 5 * gap, 266, "the executor launches the same plan; counters and times are held against counts, time and regime", "small", "end")
    return d


def queue_times(most, service, elsewhere):
    """Time of a round of 1 to most jobs, each `service` at the shared resource: exact mean value analysis (F5)."""
    times, waiting = [], 0.0
    for n in range(1, most + 1):
        there = service * (1.0 + waiting)
        times.append(elsewhere + there)
        waiting = n * there / times[-1]
    return times


def queue():
    d = Drawing(980, 330, "A closed queue: the resident CTAs of an SM share its resources (F5)")
    d.text(30, 34, "R CTAs of an SM go round", "bold", "start")
    d.rect(60, 62, 152, 92, "box", 6)
    d.text(136, 118, "elsewhere: E", "bold")
    d.text(136, 138, "latency, its own chain", "small")
    d.rect(292, 62, 172, 92, "box", 6)
    d.text(378, 118, "shared resource: D", "bold")
    d.text(378, 138, "cores, or memory", "small")
    d.arrow([(212, 88), (292, 88)])
    d.arrow([(464, 88), (490, 88), (490, 192), (34, 192), (34, 88), (60, 88)])
    for x in (230, 248, 266):
        d.circle(x, 88, 7, "work")
    d.text(252, 72, "waiting", "small")
    d.circle(136, 88, 7, "work")
    d.circle(378, 88, 7, "work")
    d.text(262, 212, "the next step of the same CTA", "small")
    d.text(30, 258, "D = S / R: one CTA's part of what all R need of the resource (S).", "small", "start")
    d.text(30, 278, "E = a − D: the rest of its time alone (a). A CTA that comes finds on average", "small", "start")
    d.text(30, 298, "as many ahead of it as there would be without it: T_j = E + D (1 + Q_(j−1)).", "small", "start")
    # Right: the example of EquationF5.ClosedQueueByHand.
    service, elsewhere, most = 50.0, 100.0, 6
    left, bottom, right, top = 580, 262, 950, 62
    x = lambda n: left + (right - left) * (n - 0.5) / (most + 0.2)
    y = lambda t: bottom - (bottom - top) * t / 350.0
    d.text(left, 34, "D = 50, E = 100: a round of all R CTAs", "bold", "start")
    d.line([(left, top), (left, bottom), (right, bottom)])
    for value in (100, 200, 300):
        d.line([(left, y(value)), (right, y(value))], "thin")
        d.text(left - 8, y(value) + 4, f"{value}", "small", "end")
    d.line([(x(1), y(150)), (x(most), y(150))], "dash")
    d.line([(x(1), y(50)), (x(most), y(50 * most))], "dash")
    d.text(x(4.95), y(150) + 17, "alone: a = 150", "small")
    d.text(x(1.75), y(95) + 22, "S = 50 R", "small", "start")
    times = queue_times(most, service, elsewhere)
    d.line([(x(n + 1), y(t)) for n, t in enumerate(times)], "curve")
    for n, t in enumerate(times):
        d.circle(x(n + 1), y(t), 4, "dot")
        d.text(x(n + 1) - 4, y(t) - 12, f"{t:.0f}", "small")
        d.text(x(n + 1), bottom + 18, f"{n + 1}", "small")
    d.text((left + right) / 2, bottom + 40, "R", "small")
    return d


def waves():
    d = Drawing(980, 400, "Waves of CTAs on an SM's slots, and the tail (F1 to F4)")
    d.text(30, 32, "Four SMs with two slots each; 20 CTAs: two full waves and a tail of four", "bold", "start")
    left, top, row, gap, scale = 110, 62, 22, 12, 1.0
    boundary = [(110, 380), (380, 640), (640, 850)]
    names = ["first wave: T_wave(R)", "further wave: T_further(R)", "tail: T_wave(1)"]
    def cta(x, y, parts):
        for style, width in parts:
            d.rect(x, y, width * scale - 1, row - 3, style, 2)
            x += width * scale
    for sm in range(4):
        y = top + sm * (2 * row + gap)
        d.text(left - 14, y + row + 3, f"SM {sm}", "", "end")
        for slot in range(2):
            at = y + slot * row
            # All start together: all fill, then all compute, at the same time.
            cta(left, at, [("fill", 70), ("work", 160), ("end", 40)])
            # Later ones are out of phase: one fills while the other computes.
            if slot == 0:
                cta(left + 276, at, [("fill", 45), ("work", 130), ("end", 35)])
                cta(left + 276 + 260, at, [("fill", 50), ("work", 95), ("end", 30)])
            else:
                cta(left + 276, at, [("fill", 89), ("work", 130), ("end", 35)])
                d.rect(left + 276 + 262, at + 2, 171, row - 7, "idle", 2)
    bottom = top + 4 * (2 * row + gap)
    for (begin, end), name in zip(boundary, names):
        d.line([(begin + 2, bottom + 10), (begin + 2, bottom + 16), (end - 8, bottom + 16), (end - 8, bottom + 10)])
        d.text((begin + end - 6) / 2, bottom + 36, name, "small")
    d.line([(380, top - 8), (380, bottom + 4)], "dash")
    d.line([(640, top - 8), (640, bottom + 4)], "dash")
    d.arrow([(left, bottom + 52), (left + 740, bottom + 52)])
    d.text(left + 752, bottom + 56, "time", "small", "start")
    x = 110
    for style, name in (("fill", "fill: first loads, cold code"), ("work", "steps: cores and memory"), ("end", "drain: last step, stores"),
                        ("idle", "empty slot")):
        d.rect(x, 374 - 11, 14, 13, style, 2)
        d.text(x + 21, 374, name, "small", "start")
        x += 44 + 7.3 * len(name)
    return d


def coalescing():
    d = Drawing(980, 360, "Reads of the same sector by SMs of one GPC become one while the first is under way, four at most (W6)")
    d.text(30, 32, "Six SMs of one GPC read the same sector of L2", "bold", "start")
    left, top, row = 130, 62, 34
    asks = [12, 40, 58, 96, 118, 290]        # when each SM's request comes
    of_request = [0, 0, 0, 0, 1, 2]          # which request of L2 it becomes a part of
    begins, window = [12, 118, 290], 140
    bottom = top + 6 * row
    x = lambda t: left + 1.2 * t
    for k, begin in enumerate(begins):
        members = [i for i, r in enumerate(of_request) if r == k]
        y0, y1 = top + members[0] * row - 2, top + (members[-1] + 1) * row - 6
        d.rect(x(begin), y0, 1.2 * window, y1 - y0, "window", 4)
    for i, ask in enumerate(asks):
        y = top + i * row + row / 2 - 4
        d.text(left - 16, y + 5, f"SM {i}", "", "end")
        d.line([(left, y), (x(445), y)], "thin")
        first = ask in begins
        d.circle(x(ask), y, 6, "dot" if first else "end")
    d.arrow([(left, bottom + 8), (x(445), bottom + 8)])
    d.text(x(445) + 10, bottom + 12, "time", "small", "start")
    d.line([(x(12), bottom + 14), (x(12), bottom + 20), (x(152), bottom + 20), (x(152), bottom + 14)])
    d.text(left, bottom + 38, "under way: 55 clk from L2, 350 from DRAM", "small", "start")
    d.circle(36, bottom + 70, 6, "dot")
    d.text(50, bottom + 75, "request that L2 sees", "small", "start")
    d.circle(200, bottom + 70, 6, "end")
    d.text(214, bottom + 75, "request that joins it", "small", "start")
    notes = [(96, ["SM 0 to 3: one request.", "Four merge at most, so at least", "⌈n/4⌉ / n of the bytes stay."]),
             (184, ["SM 4 starts another.", "The first is full."]),
             (244, ["SM 5 comes too late to join.", "SMs drift apart: 1 / (1 + m √(n − 1)) stay."])]
    for y, lines in notes:
        for i, line in enumerate(lines):
            d.text(712, y + 19 * i, line, "small" if i else "bold", "start")
    return d


FIGURES = {"stages": stages, "queue": queue, "waves": waves, "coalescing": coalescing}


def problems():
    for name, draw in FIGURES.items():
        file = HERE / f"{name}.svg"
        if not file.is_file() or file.read_text(encoding="utf-8") != draw().svg():
            yield f"docs/figures/{name}.svg is not what docs/figures/draw.py draws"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        found = list(problems())
        print("\n".join(found) or "the figures are those that draw.py draws")
        sys.exit(1 if found else 0)
    if sys.argv[1:]:
        sys.exit(__doc__)
    for name, draw in FIGURES.items():
        (HERE / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")
