// The pages can be read without this. It adds marks that say which case they are, and tables that sort and filter;
// on the page of a run also the table of all cases and the view of one.
'use strict';
(() => {
  document.documentElement.classList.add('js');
  const byId = (id) => document.getElementById(id);
  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(key, value);
    made.append(...children.filter((child) => child !== null));
    return made;
  };

  // The marks of all figures. A path holds those of a series: each begins with an M, data-cases has their ids in order.
  const figures = [...document.querySelectorAll('svg')].map((svg) => ({
    svg,
    paths: [...svg.querySelectorAll('path.marks')].map((path) => {
      const ids = path.dataset.cases.split(','), labels = (path.dataset.labels ?? '').split('\n');
      const marks = path.getAttribute('d').split(/(?=M)/).map((d, i) => {
        const [, x, y] = /^M\s*(-?[\d.]+)[ ,]*(-?[\d.]+)/.exec(d).map(Number);
        const bar = /H(-?[\d.]+)v([\d.]+)H/.exec(d); // from corner to corner
        return { d, x, y, right: bar ? Number(bar[1]) : null, bottom: bar ? y + Number(bar[2]) : null, id: ids[i] === '' ? null : Number(ids[i]), label: labels[i] ?? '' };
      });
      return { path, marks, shown: marks };
    }),
  })).filter((figure) => figure.paths.length > 0);

  function nearest(svg, event) {
    const figure = figures.find((candidate) => candidate.svg === svg);
    const matrix = svg.getScreenCTM();
    if (!figure || !matrix) return null;
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    let best = null, least = (12 / matrix.a) ** 2;
    for (const { shown } of figure.paths)
      for (const mark of shown) {
        if (mark.right !== null) {
          if (at.x >= mark.x - 1 && at.x <= mark.right + 1 && at.y >= mark.y && at.y <= mark.bottom) return mark;
          continue;
        }
        const distance = (mark.x - at.x) ** 2 + (mark.y - at.y) ** 2;
        if (distance < least) [best, least] = [mark, distance];
      }
    return best;
  }

  // A ring around each mark of one case, in every figure that has it.
  function ring(id) {
    for (const old of document.querySelectorAll('svg .ring')) old.remove();
    if (id === null) return;
    for (const { svg, paths } of figures)
      for (const { shown } of paths)
        for (const mark of shown)
          if (mark.id === id) {
            const shape = mark.right === null ? ['circle', { cx: mark.x, cy: mark.y, r: 5 }]
              : ['rect', { x: mark.x, y: mark.y, width: Math.max(0, mark.right - mark.x), height: mark.bottom - mark.y }];
            const outline = document.createElementNS('http://www.w3.org/2000/svg', shape[0]);
            for (const [key, value] of Object.entries({ class: 'ring', ...shape[1] })) outline.setAttribute(key, value);
            svg.append(outline);
          }
  }

  function show(wanted) {
    for (const { paths } of figures)
      for (const series of paths) {
        series.shown = series.marks.filter((mark) => mark.id === null || wanted(mark.id));
        series.path.setAttribute('d', series.shown.map((mark) => mark.d).join(''));
      }
  }

  // What lies under the pointer or has the focus: its mark is ringed, `text(id)` is said at the bottom.
  const lit = byId('lit');
  function follow(text, open, changed = () => {}) {
    let current = null;
    const light = (id, label = '') => {
      if (id !== current) {
        changed(current, id);
        ring(id);
        current = id;
      }
      lit.textContent = id === null ? label : text(id);
    };
    const of = (event) => {
      const own = event.target.closest?.('[data-case]');
      if (own) return { id: Number(own.dataset.case), label: '' };
      const svg = event.target.closest?.('svg');
      return (svg && nearest(svg, event)) ?? { id: null, label: '' };
    };
    let last = null;
    document.addEventListener('mousemove', (event) => {
      if (last === null) requestAnimationFrame(() => { const { id, label } = of(last); last = null; light(id, label); });
      last = event;
    });
    document.addEventListener('focusin', (event) => { if (event.target.closest?.('[data-case]')) light(of(event).id); });
    document.addEventListener('click', (event) => {
      if (event.target.closest?.('a, button, summary, input, select')) return;
      const { id } = of(event);
      if (id !== null) open(id);
    });
    return light;
  }

  const absent = (value) => value === null || value === undefined;
  function compare(x, y, down) {
    if (absent(x) || absent(y)) return absent(x) - absent(y); // what has no value comes last either way
    const order = typeof x === 'number' ? x - y : x.localeCompare(y, 'en', { numeric: true });
    return down ? -order : order;
  }

  // An entry of a legend hides or shows its series; `chosen` may take the tap for itself.
  function legends(chosen) {
    for (const svg of document.querySelectorAll('svg.figure'))
      for (const entry of svg.querySelectorAll('.legend')) {
        const style = entry.querySelector('path')?.getAttribute('class')?.match(/\bs\d\b/)?.[0];
        if (!style) continue; // lines and bands
        const hollow = entry.querySelector('.hollow') !== null;
        // A series without an entry of its own goes with the one of its colour.
        const series = [...svg.children].filter((group) => group.matches(`g.${style}`) &&
          (group.classList.contains('hollow') === hollow || !svg.querySelector(`.legend path.${style}${hollow ? ':not(.hollow)' : '.hollow'}`)));
        for (const [key, value] of Object.entries({ role: 'button', tabindex: 0, 'aria-pressed': true })) entry.setAttribute(key, value);
        const tap = () => {
          if (chosen(entry.textContent.trim())) return;
          const on = entry.getAttribute('aria-pressed') === 'false';
          entry.setAttribute('aria-pressed', on);
          for (const group of series) group.style.display = on ? '' : 'none';
        };
        entry.addEventListener('click', (event) => { event.stopPropagation(); tap(); });
        entry.addEventListener('keydown', (event) => {
          if (event.key !== 'Enter' && event.key !== ' ') return;
          event.preventDefault();
          tap();
        });
      }
  }

  // A word with its meaning, by a tap.
  const meaning = make('div', { id: 'meaning', role: 'status', hidden: '' });
  document.body.append(meaning);
  document.addEventListener('click', (event) => {
    const word = event.target.closest?.('button.word');
    meaning.hidden = !word || meaning.dataset.word === word.dataset.word && !meaning.hidden;
    if (meaning.hidden) return;
    meaning.dataset.word = word.dataset.word;
    const name = word.dataset.word.replace(/[^\w-]/g, '_');
    meaning.replaceChildren(make('strong', {}, word.dataset.word), ': ', byId('word-' + name)?.nextElementSibling?.textContent ?? '');
    const at = word.getBoundingClientRect();
    meaning.style.left = Math.max(8, Math.min(at.left, innerWidth - 340)) + 'px';
    meaning.style.top = at.bottom + scrollY + 6 + 'px';
  });
  document.addEventListener('keydown', (event) => { if (event.key === 'Escape') meaning.hidden = true; });

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text());
  }

  // ---- the page of a profile: a table that is there already
  function profilePage() {
    const table = byId('table'), body = table.tBodies[0];
    const rows = new Map([...body.rows].map((row) => [Number(row.dataset.case), row]));
    const texts = new Map([...rows].map(([id, row]) => [id, row.textContent.toLowerCase()]));
    const said = (row) => {
      const [name, , value, interval] = [...row.cells].map((cell) => cell.firstChild.textContent);
      const kind = row.dataset.source === 'measured' ? '95\u00a0% interval' : 'range';
      return `${name}: ${value}${interval === '–' ? '' : `, ${kind} ${interval}`}, ${row.cells[7].textContent}`;
    };
    follow((id) => said(rows.get(id)), () => {}, (before, now) => {
      rows.get(before)?.classList.remove('lit');
      rows.get(now)?.classList.add('lit');
    });
    const heads = [...table.tHead.querySelectorAll('th[data-key]')];
    for (const head of heads) {
      const button = make('button', { type: 'button' });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener('click', () => {
        const down = head.getAttribute('aria-sort') === 'ascending';
        for (const other of heads) other.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const value = (row) => {
          const cell = row.cells[head.cellIndex], text = cell.dataset.sort ?? cell.textContent;
          return text === '' || text === '–' ? null : isNaN(text) ? text : Number(text);
        };
        body.append(...[...rows.values()].sort((a, b) => compare(value(a), value(b), down)));
      });
    }
    const form = document.querySelector('.filters');
    function filter() {
      const words = byId('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
      const ticked = (kind) => new Set([...form.querySelectorAll(`[data-${kind}]`)].filter((box) => box.checked).map((box) => box.dataset[kind]));
      const kinds = ['source', 'group'].map((kind) => [kind, ticked(kind)]);
      let count = 0;
      for (const [id, row] of rows) {
        const on = kinds.every(([kind, of]) => of.has(row.dataset[kind])) && words.every((word) => texts.get(id).includes(word));
        row.hidden = !on;
        count += on;
      }
      show((id) => rows.get(id) ? !rows.get(id).hidden : true);
      byId('shown').textContent = `${count} of ${rows.size} numbers shown`;
    }
    form.addEventListener('input', filter);
    form.addEventListener('submit', (event) => event.preventDefault());
    filter();
    legends(() => false);
  }

  // ---- a page of figures and tables alone
  function plainPage() {
    follow(() => '', () => {});
    legends(() => false);
  }

  // ---- the page of a run
  const micro = (value) => absent(value) ? '–' : value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0);
  const fine = (value) => absent(value) ? '–' : value < 9999.5 ? value.toPrecision(4) : value.toFixed(0); // where one case is looked at
  const us = (value) => fine(value) + '\u00a0µs';
  const percent = (value) => absent(value) ? '–' : (value < 0 ? '−' : '+') + Math.abs(100 * value).toFixed(1) + '\u00a0%';
  const factor = (value) => absent(value) ? '–' : value.toFixed(value < 9.995 ? 2 : 1) + '×';
  const regimeWord = { c: 'compute', b: 'memory', e: 'exposed', '-': '–' };

  function casesOf(columns) {
    const text = (key) => columns[key].index.map((i) => i < 0 ? null : columns[key].texts[i]);
    const texts = Object.fromEntries(['study', 'layer', 'shape', 'name', 'group', 'status', 'note', 'limiter'].map((key) => [key, text(key)]));
    return texts.shape.map((shape, id) => {
      const one = { id, regimes: columns.regimes[id], size: columns.gfma[columns.shape.index[id]], baseline: columns.baseline[id] === 1 };
      for (const key of Object.keys(texts)) one[key] = texts[key][id];
      for (const key of ['predicted', 'low', 'high', 'tier0', 'cold', 'cold_low', 'cold_high', 'warm', 'error', 'speedup', 'l2_error']) one[key] = columns[key][id];
      one.regime = one.regimes[3] === '-' ? one.regimes[2] : one.regimes[3];
      one.abs_error = absent(one.error) ? null : Math.abs(one.error);
      one.search = [one.study, one.layer, shape, one.name, one.status, one.note, one.limiter].join(' ').toLowerCase();
      return one;
    });
  }
  const describe = (one) => `${one.shape} ${one.name}` + (absent(one.predicted) ? '' : `: forecast ${micro(one.predicted)} µs`) +
    (absent(one.cold) ? '' : `${absent(one.predicted) ? ':' : ','} measured ${micro(one.cold)} µs`) + (absent(one.error) ? '' : ` (${percent(one.error)})`);

  const gridColumns = [
    { key: 'layer', name: 'layer', text: (one) => one.layer ?? '–' },
    { key: 'shape', name: 'shape', text: (one) => one.shape, below: (one) => one.name },
    { key: 'name', name: 'strategy or baseline', text: (one) => one.name },
    { key: 'predicted', name: 'forecast, µs', number: true, text: (one) => micro(one.predicted) },
    { key: 'cold', name: 'measured, µs', number: true, text: (one) => absent(one.cold) && one.status !== 'ok' ? one.status.replace('_', ' ') : micro(one.cold) },
    { key: 'abs_error', name: 'error', number: true, text: (one) => percent(one.error) },
    { key: 'warm', name: 'warm, µs', number: true, text: (one) => micro(one.warm) },
    { key: 'regime', name: 'regime', text: (one) => regimeWord[one.regime] },
    { key: 'limiter', name: 'limiter', text: (one) => one.limiter ?? '–' },
    { key: 'speedup', name: 'vs cuDNN', number: true, text: (one) => factor(one.speedup) },
    { key: 'size', name: 'GFMA', number: true, text: (one) => absent(one.size) ? '–' : one.size < 0.01 ? one.size.toExponential(1) : one.size.toPrecision(3) },
  ];

  // Only the rows in view are in the document, and of the columns those that any case has.
  function makeGrid(place, cases, open) {
    const columns = gridColumns.filter((column) => cases.length === 0 || cases.some((one) => column.key === 'cold' ? !absent(one.cold) || one.status !== 'ok' : !absent(one[column.key])));
    const narrow = matchMedia('(max-width: 48rem)'); // where a row has two lines
    let height = narrow.matches ? 44 : 28;
    let rows = cases, first = -1, selected = 0, sorted = { key: null, down: false };
    const heads = columns.map((column) => {
      const button = make('button', { type: 'button' }, column.name);
      const head = make('th', { scope: 'col', class: column.number ? 'number' : null, 'data-key': column.key }, button);
      button.addEventListener('click', () => {
        // The error is most asked for by its size: largest first.
        const down = sorted.key === column.key ? !sorted.down : column.key === 'abs_error';
        sorted = { key: column.key, down };
        for (const other of heads) other.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        update(rows);
      });
      return head;
    });
    const before = make('tr', { class: 'space' }, make('td'));
    const after = make('tr', { class: 'space' }, make('td'));
    const body = make('tbody');
    place.append(make('table', {}, make('thead', {}, make('tr', {}, ...heads)), body));
    function row(one, i) {
      return make('tr', { 'data-case': one.id, class: i === selected ? 'selected' : null, 'aria-rowindex': i + 1 },
        ...columns.map((column) => make('td', { class: column.number ? 'number' : null, 'data-key': column.key, title: column.key === 'name' ? one.name : column.key === 'shape' ? one.shape : null }, column.text(one), column.below && narrow.matches ? make('small', {}, column.below(one)) : null)));
    }
    function draw(force) {
      const from = Math.max(0, Math.floor(place.scrollTop / height) - 8);
      if (!force && from === first) return;
      first = from;
      const to = Math.min(rows.length, from + Math.ceil(place.clientHeight / height) + 16);
      before.style.height = from * height + 'px';
      after.style.height = (rows.length - to) * height + 'px';
      body.replaceChildren(before, ...rows.slice(from, to).map((one, i) => row(one, from + i)), after);
    }
    function update(wanted) {
      rows = [...wanted];
      if (sorted.key !== null) rows.sort((a, b) => compare(a[sorted.key], b[sorted.key], sorted.down) || a.id - b.id);
      else rows.sort((a, b) => a.id - b.id);
      selected = 0;
      place.scrollTop = 0;
      place.setAttribute('aria-rowcount', rows.length);
      draw(true);
    }
    place.addEventListener('scroll', () => draw(false));
    addEventListener('resize', () => { height = narrow.matches ? 44 : 28; draw(true); });
    place.addEventListener('keydown', (event) => {
      const page = Math.floor(place.clientHeight / height) - 2;
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length }[event.key];
      if (step !== undefined && event.target === place) {
        event.preventDefault();
        selected = Math.max(0, Math.min(rows.length - 1, selected + step));
        const top = selected * height;
        if (top < place.scrollTop) place.scrollTop = top;
        if (top > place.scrollTop + place.clientHeight - 3 * height) place.scrollTop = top - place.clientHeight + 3 * height;
        draw(true);
      } else if (event.key === 'Enter' && event.target === place && rows[selected]) {
        open(rows[selected].id);
      }
    });
    update(cases);
    return { update, neighbour: (id, step) => rows[rows.findIndex((one) => one.id === id) + step] ?? null };
  }

  function bars(entries, forecast, measured) {
    const most = Math.max(entries.reduce((sum, [, value]) => sum + value, 0), forecast ?? 0, measured ?? 0) || 1;
    let from = 0;
    const list = make('dl', { class: 'bars' });
    for (const [name, value] of entries) {
      const bar = make('i');
      bar.style.marginLeft = 100 * from / most + '%';
      bar.style.width = Math.max(0.4, 100 * value / most) + '%';
      from += value;
      if (value > 0.002 * most) list.append(make('div', {}, make('dt', {}, name), make('dd', {}, bar), make('dd', { class: 'number' }, fine(value))));
    }
    for (const [name, value] of [['forecast', forecast], ['measured', measured]]) {
      if (absent(value)) continue;
      const bar = make('i', { class: name });
      bar.style.width = 100 * value / most + '%';
      list.append(make('div', { class: 'sum' }, make('dt', {}, name), make('dd', {}, bar), make('dd', { class: 'number' }, fine(value))));
    }
    return list;
  }

  // Of a formula: 1 * x is x; units and signs as people write them.
  const proper = (how) => how.replace(/(^|[\s(])1 \* /g, '$1').replaceAll(' * ', ' · ').replace(/(\d) ?us\b/g, '$1\u00a0µs');

  // A node's children are made when it is opened.
  function branch([name, how, value, children], open) {
    const label = [make('span', { class: 'number' }, us(value)), make('b', {}, name), make('small', {}, proper(how))];
    if (children.length === 0) return make('div', { class: 'leaf' }, ...label);
    const node = make('details', {}, make('summary', {}, ...label));
    const fill = () => { if (node.children.length === 1) node.append(...children.map((child) => branch(child, false))); };
    node.addEventListener('toggle', fill);
    if (open) {
      fill();
      node.open = true;
    }
    return node;
  }

  function facts(entries) {
    return make('dl', { class: 'facts' }, ...entries.filter(([, value]) => !absent(value) && value !== '–').map(([name, value]) =>
      make('div', {}, make('dt', {}, name), make('dd', {}, value))));
  }

  function regimesOf(one) {
    return ['paper’s rule', 'physical rule', 'forecast', 'counters'].map((who, i) => [who, regimeWord[one.regimes[i]]])
      .filter(([, word]) => word !== '–').map(([who, word]) => `${word} (${who})`).join(', ');
  }

  async function runPage(packed) {
    const columns = await unpack(packed);
    const cases = casesOf(columns);
    const chunks = [...document.querySelectorAll('.explanations')], unpacked = new Map(), placeOf = new Map();
    columns.chunks.forEach((ids, chunk) => ids.forEach((id, at) => placeOf.set(id, [chunk, at])));
    async function explanation(id) {
      if (!placeOf.has(id)) return null;
      const [chunk, at] = placeOf.get(id);
      if (!unpacked.has(chunk)) unpacked.set(chunk, unpack(chunks[chunk].textContent));
      return (await unpacked.get(chunk))[at];
    }

    // One case, beside the page; its address is #case=ID, and the way back is where the reader was.
    const panel = byId('case');
    let opener = null; // has the focus again when the panel closes
    const open = (id) => {
      if (location.hash === `#case=${id}`) return;
      opener = document.activeElement;
      history.pushState({ opened: true }, '', `#case=${id}`);
      view();
    };
    function close() {
      if (history.state?.opened) history.back();
      else { history.replaceState(null, '', location.pathname + location.search); view(); }
    }
    const light = follow((id) => describe(cases[id]), open);
    const grid = makeGrid(byId('grid'), cases, open);
    async function view(pressed) {
      const id = Number(/^#case=(\d+)$/.exec(location.hash)?.[1] ?? -1), one = cases[id];
      const was = !panel.hidden;
      panel.hidden = !one;
      document.documentElement.classList.toggle('with-case', Boolean(one));
      for (const part of [...document.body.children]) // the page behind cannot be reached
        if (part !== panel && part.matches('header, main')) part.inert = Boolean(one);
      if (!one) {
        if (was && opener?.isConnected) opener.focus({ preventScroll: true });
        opener = null;
        return;
      }
      light(id);
      const why = await explanation(id);
      const step = (to, word) => {
        const other = grid.neighbour(id, to);
        const button = make('button', { type: 'button', 'aria-label': word, disabled: other ? null : '' }, to < 0 ? '‹' : '›');
        button.addEventListener('click', () => { history.replaceState(history.state, '', `#case=${other.id}`); view(word); });
        return button;
      };
      const shut = make('button', { type: 'button', class: 'shut', 'aria-label': 'close' }, '×');
      shut.addEventListener('click', close);
      const verdict = one.status !== 'ok' && absent(one.predicted) ? one.status.replace('_', ' ')
        : absent(one.cold) ? `forecast ${us(one.predicted)}` : absent(one.predicted) ? `measured ${us(one.cold)}`
        : `forecast ${us(one.predicted)}, measured ${us(one.cold)}: ` + (one.abs_error < 0.0005 ? 'exact' : `${(100 * one.abs_error).toFixed(1)}\u00a0%\u00a0too\u00a0${one.error < 0 ? 'fast' : 'slow'}`);
      const command = `convcast predict --gpu ${columns.gpu} --shape ${one.shape} --strategy ${one.name}`;
      const parts = [
        make('header', {}, make('h2', {}, one.shape), make('span', {}, step(-1, 'the case before'), step(1, 'the next case'), shut)),
        make('p', { class: 'name' }, one.name), make('p', { class: 'verdict' }, verdict),
        one.note ? make('p', { class: 'note' }, one.note) : null, why?.reason ? make('p', { class: 'note' }, why.reason) : null,
        facts([
          ['interval of the forecast', absent(one.low) ? null : `${fine(one.low)} to ${us(one.high)}`],
          ['samples, 5 % to 95 %', absent(one.cold_low) ? null : `${fine(one.cold_low)} to ${us(one.cold_high)}`],
          ['warm', absent(one.warm) ? null : us(one.warm)],
          ['speed of light', absent(one.tier0) ? null : us(one.tier0) + (absent(one.cold ?? one.predicted) || one.tier0 <= 0 ? '' : `, ${((one.cold ?? one.predicted) / one.tier0).toFixed(1)}× away`)],
          ['regime', regimesOf(one) || null], ['limiter', one.limiter], ['vs cuDNN', absent(one.speedup) ? null : factor(one.speedup)],
          ['relative error (L2 norm)', absent(one.l2_error) ? null : one.l2_error.toExponential(1)], ['study', one.study], ['layer', one.layer],
        ]),
      ];
      if (why?.bars) parts.push(make('h3', {}, 'Where the time goes, µs'), bars(why.bars, one.predicted, one.cold));
      if (why?.tree) parts.push(make('h3', {}, 'How the forecast comes about'), make('div', { class: 'tree' }, branch(why.tree, true)));
      if (why?.rates) parts.push(make('h3', {}, 'Rates'), facts(why.rates));
      if (why?.rules) parts.push(make('h3', {}, 'The papers’ rules'), facts(why.rules));
      if (why?.assumed) parts.push(make('h3', {}, 'Assumed'), make('ul', {}, ...why.assumed.map((said) => make('li', {}, said))));
      if (!one.baseline) parts.push(make('h3', {}, 'The same from the command line'), make('pre', {}, command));
      panel.replaceChildren(...parts.filter((part) => part !== null));
      panel.scrollTop = 0;
      const again = typeof pressed === 'string' ? panel.querySelector(`header button[aria-label="${pressed}"]:not([disabled])`) : null;
      (again ?? shut).focus({ preventScroll: true });
    }
    addEventListener('popstate', view);
    addEventListener('hashchange', view);
    document.addEventListener('keydown', (event) => { if (event.key === 'Escape' && !panel.hidden) close(); });
    document.addEventListener('click', (event) => {
      const link = event.target.closest?.('a[data-case]');
      if (!link) return;
      event.preventDefault();
      open(Number(link.dataset.case));
    });

    // Filters act on the table and on every figure.
    const form = document.querySelector('.filters');
    for (const select of form.querySelectorAll('select')) {
      const key = select.dataset.key;
      for (const value of [...new Set(cases.map((one) => one[key]))].filter((value) => value !== null && value !== '-').sort())
        select.append(make('option', { value }, key === 'regime' ? regimeWord[value] : value.replace('_', key === 'status' ? ' ' : '_')));
      select.parentElement.hidden = select.options.length < 3;
    }
    byId('least-error').parentElement.hidden = cases.every((one) => absent(one.error));
    const number = (id, otherwise) => byId(id).value === '' ? otherwise : Number(byId(id).value);
    const regimeOf = { 'compute bound': 'c', 'memory bound': 'b', exposed: 'e' };
    const chip = make('button', { type: 'button', id: 'chip', hidden: '' });
    chip.addEventListener('click', () => form.reset());
    document.querySelector('nav').append(chip);
    function filter() {
      const words = byId('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
      const chosen = [...form.querySelectorAll('select')].filter((select) => select.value !== '').map((select) => [select.dataset.key, select.value]);
      const leastError = number('least-error', 0) / 100, leastSize = number('least-size', -1), mostSize = number('most-size', Infinity);
      const on = cases.map((one) => chosen.every(([key, value]) => one[key] === value) && words.every((word) => one.search.includes(word)) &&
        (leastError <= 0 || one.abs_error >= leastError) && (one.size ?? 0) >= leastSize && (one.size ?? 0) <= mostSize);
      const kept = cases.filter((one) => on[one.id]);
      grid.update(kept);
      show((id) => on[id]);
      ring(null);
      byId('shown').textContent = `${kept.length} of ${cases.length} cases shown`;
      const said = [...words, ...chosen.map(([key, value]) => key === 'regime' ? regimeWord[value] : value),
        ...(leastError > 0 ? [`|error| ≥ ${byId('least-error').value}\u00a0%`] : []),
        ...(byId('least-size').value !== '' ? [`from ${byId('least-size').value}\u00a0GFMA`] : []),
        ...(byId('most-size').value !== '' ? [`to ${byId('most-size').value}\u00a0GFMA`] : [])];
      chip.hidden = said.length === 0;
      chip.textContent = `${said.join(', ')} · ${kept.length} of ${cases.length} · clear ×`;
      document.documentElement.classList.toggle('filtered', said.length > 0);
      const group = byId('of-group').value, regime = byId('of-regime').value;
      for (const entry of document.querySelectorAll('.legend[role]'))
        if (regimeOf[entry.textContent.trim()]) entry.setAttribute('aria-pressed', regime === '' || regimeOf[entry.textContent.trim()] === regime);
      for (const row of document.querySelectorAll('[data-strategy]')) {
        row.classList.toggle('chosen', row.dataset.strategy === group);
        row.classList.toggle('faded', group !== '' && row.dataset.strategy !== group);
        row.querySelector('th button')?.setAttribute('aria-pressed', row.dataset.strategy === group);
      }
    }
    form.addEventListener('input', filter);
    form.addEventListener('reset', () => setTimeout(filter));
    form.addEventListener('submit', (event) => event.preventDefault());
    for (const row of document.querySelectorAll('tr[data-strategy]')) {
      const head = row.querySelector('th');
      const button = make('button', { type: 'button', 'aria-pressed': false }, ...head.childNodes);
      head.append(button);
      button.addEventListener('click', () => {
        const select = byId('of-group');
        select.value = select.value === row.dataset.strategy ? '' : row.dataset.strategy;
        filter();
      });
    }
    // A regime in a legend is a filter of everything.
    legends((name) => {
      const select = byId('of-regime');
      if (![...select.options].some((option) => option.value === regimeOf[name])) return false;
      select.value = select.value === regimeOf[name] ? '' : regimeOf[name];
      filter();
      return true;
    });
    filter();
    view();
  }

  async function start() {
    const packed = document.querySelector('script[data-page="cases"]');
    if (packed !== null) await runPage(packed.textContent);
    else if (document.querySelector('.of-numbers') !== null) profilePage();
    else plainPage();
    document.documentElement.dataset.ready = '1'; // all of it is there
  }
  start();
})();
