// The page is complete without this: it adds sorting, filters, and marks and rows that light up together.
'use strict';
(() => {
  const cases = JSON.parse(document.getElementById('cases').textContent);
  const table = document.getElementById('table');
  const body = table.tBodies[0];
  const rows = new Map([...body.rows].map((row) => [row.dataset.case, row]));
  const texts = new Map([...rows].map(([id, row]) => [id, row.textContent.toLowerCase()]));
  const marks = new Map();
  for (const mark of document.querySelectorAll('svg [data-case]')) {
    if (!marks.has(mark.dataset.case)) marks.set(mark.dataset.case, []);
    marks.get(mark.dataset.case).push(mark);
  }
  document.documentElement.classList.add('js');

  // Light the row and all marks of one case, and say which it is.
  const lit = document.getElementById('lit');
  let current = null;
  function light(id) {
    if (id === current) return;
    for (const [which, on] of [[current, false], [id, true]]) {
      if (which === null) continue;
      rows.get(which)?.classList.toggle('lit', on);
      for (const mark of marks.get(which) ?? []) mark.classList.toggle('lit', on);
    }
    current = id;
    lit.textContent = id === null ? '' : cases[Number(id)].text;
  }
  const caseOf = (event) => event.target.closest?.('[data-case]')?.dataset.case ?? null;
  for (const kind of ['mouseover', 'focusin']) document.addEventListener(kind, (event) => light(caseOf(event)));

  // A click on a mark or row opens how that forecast comes about.
  function explain(id) {
    const why = document.getElementById('w' + id);
    if (!why) return;
    why.open = true;
    why.scrollIntoView({ block: 'nearest' });
    why.querySelector('summary').focus();
    light(id);
  }
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a');
    if (link) {
      const target = /^#w(\d+)$/.exec(link.getAttribute('href'));
      if (target) {
        event.preventDefault();
        explain(target[1]);
      }
    } else if (!event.target.closest?.('summary')) {
      const id = caseOf(event);
      if (id !== null) explain(id);
    }
  });
  // A link to a case from outside: open what it names.
  function followHash() {
    const target = /^#([cw])(\d+)$/.exec(location.hash);
    if (target) {
      if (target[1] === 'w') explain(target[2]);
      light(target[2]);
    }
  }
  addEventListener('hashchange', followHash);
  followHash();

  // Sorting: numbers and words, cases without a value last either way.
  const heads = [...table.tHead.querySelectorAll('th[data-key]')];
  for (const head of heads) {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
  }
  function sort(head) {
    const key = head.dataset.key;
    const down = head.getAttribute('aria-sort') === 'ascending';
    for (const other of heads) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const value = (row) => cases[Number(row.dataset.case)][key] ?? null;
    const sorted = [...rows.values()].sort((a, b) => {
      const x = value(a), y = value(b);
      if (x === null || y === null) return (x === null) - (y === null);
      const order = typeof x === 'number' ? x - y : x.localeCompare(y, 'en', { numeric: true });
      return down ? -order : order;
    });
    body.append(...sorted);
  }
  table.tHead.addEventListener('click', (event) => {
    const head = event.target.closest('button')?.closest('th');
    if (head) sort(head);
  });

  // Filters: all words of the text, and the ticked boxes; marks in the figures fade with their rows.
  const form = document.querySelector('.filters');
  const shown = document.getElementById('shown');
  function filter() {
    const words = document.getElementById('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
    const ticked = (kind) => new Set([...form.querySelectorAll(`[data-${kind}]`)]
      .filter((box) => box.checked).map((box) => box.dataset[kind]));
    const statuses = ticked('status'), groups = ticked('group');
    let count = 0;
    for (const [id, row] of rows) {
      const data = cases[Number(id)], text = texts.get(id);
      const on = statuses.has(data.status) && groups.has(data.group) && words.every((word) => text.includes(word));
      row.hidden = !on;
      for (const mark of marks.get(id) ?? []) mark.setAttribute('visibility', on ? 'visible' : 'hidden');
      count += on;
    }
    shown.textContent = `${count} of ${rows.size} ${table.dataset.rows ?? 'cases'} shown`;
  }
  form.addEventListener('input', filter);
  form.addEventListener('submit', (event) => event.preventDefault());
  filter();
})();
