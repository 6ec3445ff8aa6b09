'use strict';
// What the traces say is data: it is only ever written as text (textContent, canvas), never as HTML.
const numbers = JSON.parse(document.getElementById('numbers').textContent);
const columns = JSON.parse(document.getElementById('timeline-data').textContent);
const byId = (id) => document.getElementById(id);

function element(tag, options = {}, children = []) {
  const node = document.createElement(tag);
  const {style, ...rest} = options;
  Object.assign(node, rest);
  for (const [name, value] of Object.entries(style || {})) node.style.setProperty(name, value);
  node.append(...children);
  return node;
}

function digits(value, count = 3) {
  if (!Number.isFinite(value)) return '-';
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential(1);
  const whole = Math.abs(value) >= 1 ? Math.floor(Math.log10(Math.abs(value))) + 1 : 1;
  return value.toLocaleString('en', {maximumFractionDigits: Math.max(0, count - whole)});
}

function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; ++unit; }
  return [digits(value), units[unit]];
}

function duration(us) {
  if (us >= 1e6) return digits(us / 1e6, 4) + ' s';
  if (us >= 1e3) return digits(us / 1e3, 4) + ' ms';
  return digits(us, 4) + ' us';
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const kinds = columns.kinds;

// ---- Summary -------------------------------------------------------------------------------------------------

function banner(title, text) {
  byId('banners').append(element('div', {className: 'banner', role: 'note'}, [element('b', {textContent: title + ' '}), text]));
}

function card(label, value, unit, more) {
  byId('cards').append(element('div', {className: 'card'}, [
    element('div', {className: 'label', textContent: label}),
    element('div', {className: 'value', textContent: value + ' '}, []),
    element('div', {className: 'more', textContent: more || ''})]));
  if (unit) byId('cards').lastChild.children[1].append(element('small', {textContent: unit}));
}

function summarize() {
  byId('subtitle').textContent = [numbers.directory, numbers.transport].filter(Boolean).join('  \u00b7  ');
  document.title = 'CaSync report: ' + numbers.directory;
  if (numbers.link) {
    banner('The network was slowed down on purpose: CASYNC_LINK=' + numbers.link + '.',
           'Each rank\u2019s sending and receiving was paced to that rate, so these times are not those of the machine\u2019s own network.');
  }
  if (numbers.missing_ranks.length > 0) {
    banner('Not all ranks are here.', 'No trace was left by rank ' + numbers.missing_ranks.join(', ') + ' of ' + numbers.ranks +
           ': a rank that is killed writes none. All means are over the others.');
  }
  const dropped = numbers.by_rank.reduce((sum, rank) => sum + rank.dropped_events, 0);
  if (dropped > 0) banner('The timelines are not complete.', digits(dropped, 9) + ' events found no room and are missing.');
  if (!columns.all_steps) {
    banner('The timeline shows steps ' + columns.steps.join(' to ') + ' of ' + numbers.traced_steps + '.',
           'The numbers are those of all steps. casync report --steps FIRST..LAST shows others.');
  }
  const hosts = new Set(numbers.by_rank.map((rank) => rank.host));
  card('Ranks', numbers.ranks, '', hosts.size + (hosts.size === 1 ? ' host' : ' hosts'));
  card('Steps', digits(numbers.steps, 9), '', numbers.traced_steps + ' of them traced');
  card('Time per step', digits(numbers.ms_per_step), 'ms', 'from one step\u2019s start to the next');
  card('Synchronization', digits(numbers.sync_ms_per_step), 'ms', 'per step, first submit to end');
  card('Sent per rank and step', ...bytes(numbers.payload_bytes_per_rank_step), bytes(numbers.wire_bytes_per_rank_step).join(' ') + ' with headers');
  card('Compression', digits(numbers.ratio), '\u00d7', bytes(numbers.plain_bytes_per_rank_step).join(' ') + ' without codecs');
}

// ---- Timeline ------------------------------------------------------------------------------------------------

const kGutter = 112, kRow = 11, kGap = 3, kRankGap = 12, kAxis = 22, kMostRows = 6, kOpenRanks = 8;
const hidden = new Set();  // kinds switched off in the legend
const count = columns.start_us.length;
const end_of = (event) => columns.start_us[event] + columns.duration_us[event];
let total = 1;
for (let event = 0; event < count; ++event) total = Math.max(total, end_of(event));

// Events of one lane that overlap in time go into rows of their own, so that none hides another.
function pack(events) {
  events.sort((a, b) => columns.start_us[a] - columns.start_us[b]);
  const rows = [];
  for (const event of events) {
    let row = rows.find((one) => one.end <= columns.start_us[event]);
    if (!row && rows.length < kMostRows) rows.push(row = {events: [], end: 0});
    if (!row) row = rows.reduce((best, one) => (one.end < best.end ? one : best));
    row.events.push(event);
    row.end = Math.max(row.end, end_of(event));
  }
  return rows.map((row) => row.events);
}

const ranks = numbers.by_rank.map((rank, index) => ({
  rank: rank.rank, open: index < kOpenRanks, lanes: kinds.map(() => []), all: []}));
const rank_index = new Map(ranks.map((rank, index) => [rank.rank, index]));
for (let event = 0; event < count; ++event) {
  const rank = ranks[rank_index.get(columns.rank[event])];
  rank.lanes[columns.kind[event]].push(event);
  if (columns.kind[event] !== 0) rank.all.push(event);
}
for (const rank of ranks) {
  rank.lanes = rank.lanes.map(pack);
  rank.all.sort((a, b) => columns.start_us[a] - columns.start_us[b]);
}

const canvas = byId('timeline'), overview = byId('overview');
let view = {from: 0, to: total}, rows = [], labels = [], hovered = -1;

function lay_out() {
  rows = [];
  labels = [];
  let y = kAxis + 4;
  for (const rank of ranks) {
    const top = y;
    if (!rank.open) {
      rows.push({y, events: rank.all});
      y += kRow + kGap;
    } else {
      rank.lanes.forEach((lane, kind) => {
        if (hidden.has(kind) || lane.length === 0) return;
        labels.push({y: y + kRow / 2, text: kinds[kind]});
        for (const events of lane) {
          rows.push({y, events});
          y += kRow + 1;
        }
        y += kGap;
      });
    }
    labels.push({rank, top, bottom: y});
    y += kRankGap;
  }
  return y;
}

function prepare(target, height) {
  const scale = window.devicePixelRatio || 1;
  const width = target.clientWidth;
  target.style.height = height + 'px';
  if (target.width !== Math.round(width * scale) || target.height !== Math.round(height * scale)) {
    target.width = Math.round(width * scale);
    target.height = Math.round(height * scale);
  }
  const context = target.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return {context, width};
}

function tick_step(span, pixels) {
  const raw = span / Math.max(1, pixels / 110);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw);
}

function related(event) {
  return hovered >= 0 && columns.gradient[hovered] >= 0 && columns.gradient[event] === columns.gradient[hovered] &&
         columns.partition[event] === columns.partition[hovered] && columns.step[event] === columns.step[hovered];
}

function draw_axis(context, width, height, x_of) {
  context.fillStyle = color('soft');
  context.strokeStyle = color('line');
  context.textAlign = 'left';
  const step = tick_step(view.to - view.from, width - kGutter);
  for (let tick = Math.ceil(view.from / step) * step; tick <= view.to; tick += step) {
    const x = Math.round(x_of(tick)) + 0.5;
    context.beginPath();
    context.moveTo(x, kAxis - 4);
    context.lineTo(x, height);
    context.stroke();
    context.fillText(tick === 0 ? '0' : duration(tick), x + 3, 12);
  }
}

function draw_row(context, row, x_of, palette) {
  let drawn = -Infinity;
  for (let at = first_visible(row.events); at < row.events.length; ++at) {
    const event = row.events[at], kind = columns.kind[event];
    if (columns.start_us[event] > view.to) break;
    if (hidden.has(kind)) continue;
    const left = Math.max(kGutter, x_of(columns.start_us[event])), right = x_of(end_of(event));
    if (right < kGutter || (right <= drawn && !related(event))) continue;  // nothing of it would be seen
    const width = Math.max(1, right - left);
    context.globalAlpha = hovered < 0 || columns.gradient[hovered] < 0 || related(event) || kind === 0 ? 1 : 0.25;
    context.fillStyle = palette[kind];
    context.fillRect(left, row.y, width > 3 ? width - 0.5 : width, kRow);
    drawn = Math.max(drawn, left + 1);
    if (kind === 0 && width > 44) {
      context.fillStyle = color('text');
      context.fillText('step ' + columns.step[event], left + 4, row.y + kRow - 2);
    }
    if (event === hovered) {
      context.strokeStyle = color('text');
      context.lineWidth = 1.5;
      context.strokeRect(left, row.y, width, kRow);
      context.lineWidth = 1;
    }
  }
  context.globalAlpha = 1;
}

// Rows hold events by start; the longest one bounds how far back a visible one can begin.
function first_visible(events) {
  if (events.longest === undefined) events.longest = events.reduce((most, event) => Math.max(most, columns.duration_us[event]), 0);
  let low = 0, high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (columns.start_us[events[middle]] < view.from - events.longest) low = middle + 1; else high = middle;
  }
  return low;
}

function draw_labels(context, width) {
  for (const label of labels) {
    if (!label.rank) {
      context.font = '11px system-ui, sans-serif';
      context.fillStyle = color('soft');
      context.textAlign = 'right';
      context.fillText(label.text, kGutter - 8, label.y + 4);
      continue;
    }
    context.fillStyle = color('line');
    context.fillRect(0, label.bottom + 4, width, 1);
    context.font = '600 12px system-ui, sans-serif';
    context.fillStyle = color('text');
    context.textAlign = 'left';
    context.fillText((label.rank.open ? '\u25be ' : '\u25b8 ') + 'rank ' + label.rank.rank, 6, label.top + kRow - 1);
  }
}

function draw() {
  const height = lay_out();
  const {context, width} = prepare(canvas, height);
  const x_of = (us) => kGutter + (us - view.from) / (view.to - view.from) * (width - kGutter);
  const palette = kinds.map(color);
  context.font = '11px system-ui, sans-serif';
  draw_axis(context, width, height, x_of);
  for (const row of rows) draw_row(context, row, x_of, palette);
  draw_labels(context, width);
  draw_overview(palette);
}

// How busy each moment is, by kind, over everything; the part in view is framed.
function draw_overview(palette) {
  const {context, width} = prepare(overview, 34);
  const slots = Math.max(1, Math.floor(width / 3));
  if (!overview.busy || overview.busy.slots !== slots) {
    overview.busy = {slots, value: kinds.map(() => new Float64Array(slots)), most: 0};
    for (let event = 0; event < count; ++event) {
      if (columns.kind[event] === 0) continue;
      const first = Math.floor(columns.start_us[event] / total * slots), last = Math.floor(end_of(event) / total * slots);
      for (let slot = first; slot <= Math.min(last, slots - 1); ++slot) {
        const from = slot * total / slots, to = from + total / slots;
        overview.busy.value[columns.kind[event]][slot] += Math.min(end_of(event), to) - Math.max(columns.start_us[event], from);
      }
    }
    for (let slot = 0; slot < slots; ++slot) {
      overview.busy.most = Math.max(overview.busy.most, overview.busy.value.reduce((sum, kind) => sum + kind[slot], 0));
    }
  }
  for (let slot = 0; slot < slots; ++slot) {
    let y = 34;
    for (let kind = 1; kind < kinds.length; ++kind) {
      const height = 32 * overview.busy.value[kind][slot] / (overview.busy.most || 1);
      context.fillStyle = palette[kind];
      context.fillRect(slot * width / slots, y - height, width / slots + 0.5, height);
      y -= height;
    }
  }
  const left = view.from / total * width, right = view.to / total * width;
  context.fillStyle = color('page');
  context.globalAlpha = 0.7;
  context.fillRect(0, 0, left, 34);
  context.fillRect(right, 0, width - right, 34);
  context.globalAlpha = 1;
  context.strokeStyle = color('accent');
  context.lineWidth = 2;
  context.strokeRect(left + 1, 1, Math.max(2, right - left - 2), 32);
}

let pending = false;
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; draw(); });
}

function look(from, to) {
  const least = 5;  // microseconds: nothing finer was measured
  let span = Math.min(Math.max(to - from, least), total);
  from = Math.min(Math.max(from, 0), total - span);
  view = {from, to: from + span};
  redraw();
}

function zoom(factor, at = (view.from + view.to) / 2) {
  look(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

function time_at(event) {
  const box = canvas.getBoundingClientRect();
  return view.from + (event.clientX - box.left - kGutter) / (box.width - kGutter) * (view.to - view.from);
}

function event_at(pointer) {
  const box = canvas.getBoundingClientRect(), y = pointer.clientY - box.top;
  const row = rows.find((one) => y >= one.y - 1 && y < one.y + kRow + 1);
  if (!row || pointer.clientX - box.left < kGutter) return -1;
  const time = time_at(pointer), slack = (view.to - view.from) / (box.width - kGutter) * 2;
  let best = -1;
  for (let at = first_visible(row.events); at < row.events.length; ++at) {
    const event = row.events[at];
    if (columns.start_us[event] > time + slack) break;
    if (!hidden.has(columns.kind[event]) && end_of(event) >= time - slack) best = event;
  }
  return best;
}

function show_tip(event, pointer) {
  const tip = byId('tip');
  tip.hidden = event < 0;
  if (event < 0) return;
  const gradient = columns.gradient[event];
  const title = kinds[columns.kind[event]] + (gradient >= 0 ? ' ' + columns.names[gradient] + '[' + columns.partition[event] + ']' : '');
  const lines = [['rank', columns.rank[event]], ['step', columns.step[event]], ['duration', duration(columns.duration_us[event])],
                 ['start', duration(columns.start_us[event])]];
  if (columns.bytes[event] > 0) lines.push(['bytes', columns.bytes[event].toLocaleString('en')]);
  if (columns.hop[event] >= 0) lines.push(['hop', columns.hop[event]]);
  if (columns.peer[event] >= 0) lines.push([kinds[columns.kind[event]] === 'send' ? 'to rank' : 'from rank', columns.peer[event]]);
  if (columns.bytes[event] > 0 && columns.peer[event] >= 0 && columns.duration_us[event] > 0) {
    lines.push(['rate', digits(columns.bytes[event] * 8 / columns.duration_us[event] / 1e3) + ' Gb/s']);
  }
  tip.replaceChildren(element('b', {textContent: title}), ...lines.map(([name, value]) =>
    element('div', {}, [element('span', {textContent: name}), element('span', {textContent: String(value)})])));
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(pointer.clientX + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = (pointer.clientY + 18 + box.height > innerHeight ? pointer.clientY - box.height - 12 : pointer.clientY + 18) + 'px';
}

function listen_to_lanes() {
  let drag = null;
  canvas.addEventListener('pointerdown', (event) => {
    drag = {x: event.clientX, from: view.from, to: view.to, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (drag) {
      const shift = (drag.x - event.clientX) / (canvas.clientWidth - kGutter) * (drag.to - drag.from);
      drag.moved = drag.moved || Math.abs(drag.x - event.clientX) > 3;
      canvas.classList.toggle('dragging', drag.moved);
      look(drag.from + shift, drag.to + shift);
      return;
    }
    const found = event_at(event);
    if (found !== hovered) { hovered = found; redraw(); }
    show_tip(found, event);
  });
  canvas.addEventListener('pointerup', (event) => {
    const y = event.clientY - canvas.getBoundingClientRect().top;
    const label = labels.find((one) => one.rank && y >= one.top && y < one.bottom);
    const on_label = event.clientX - canvas.getBoundingClientRect().left < kGutter;
    if (drag && !drag.moved && on_label && label) { label.rank.open = !label.rank.open; redraw(); }
    drag = null;
    canvas.classList.remove('dragging');
  });
  canvas.addEventListener('pointerleave', () => { hovered = -1; show_tip(-1); redraw(); });
  canvas.addEventListener('dblclick', (event) => zoom(event.shiftKey ? 2 : 0.5, time_at(event)));
  canvas.addEventListener('wheel', (event) => {
    if (event.ctrlKey || event.metaKey) { event.preventDefault(); zoom(Math.exp(event.deltaY * 0.004), time_at(event)); }
    if (event.deltaX !== 0) {
      event.preventDefault();
      const shift = event.deltaX / canvas.clientWidth * (view.to - view.from);
      look(view.from + shift, view.to + shift);
    }
  }, {passive: false});
}

function listen_to_overview() {
  let start = null;
  const time = (event) => (event.clientX - overview.getBoundingClientRect().left) / overview.clientWidth * total;
  overview.addEventListener('pointerdown', (event) => { start = time(event); overview.setPointerCapture(event.pointerId); });
  overview.addEventListener('pointermove', (event) => {
    if (start !== null) look(Math.min(start, time(event)), Math.max(start, time(event)));
  });
  overview.addEventListener('pointerup', (event) => {
    const span = view.to - view.from, at = time(event);
    if (Math.abs(at - start) < total / overview.clientWidth * 3) look(at - span / 2, at + span / 2);
    start = null;
  });
}

function listen_to_keys() {
  const move = (part) => look(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));
  const actions = {w: () => zoom(0.6), s: () => zoom(1 / 0.6), a: () => move(-0.2), d: () => move(0.2), 0: () => look(0, total),
                   ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), '+': () => zoom(0.6), '-': () => zoom(1 / 0.6)};
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT/.test(event.target.tagName)) return;
    if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
  });
  byId('zoom-in').onclick = actions.w;
  byId('zoom-out').onclick = actions.s;
  byId('fit').onclick = () => { byId('step').value = ''; look(0, total); };
}

function fill_step_list() {
  const spans = new Map();
  for (let event = 0; event < count; ++event) {
    const step = columns.step[event];
    if (step < 0) continue;
    const span = spans.get(step) || {from: Infinity, to: 0};
    spans.set(step, {from: Math.min(span.from, columns.start_us[event]), to: Math.max(span.to, end_of(event))});
  }
  const list = byId('step');
  list.append(element('option', {value: '', textContent: 'all'}));
  for (const step of [...spans.keys()].sort((a, b) => a - b)) list.append(element('option', {value: step, textContent: step}));
  const show = (span) => look(span.from - 0.02 * (span.to - span.from), span.to + 0.02 * (span.to - span.from));
  list.onchange = () => (list.value === '' ? look(0, total) : show(spans.get(Number(list.value))));
  // Many steps at once are a grey band: begin with two from the middle.
  const steps = [...spans.keys()].sort((a, b) => a - b), middle = steps.length >> 1;
  if (steps.length > 3) show({from: spans.get(steps[middle]).from, to: spans.get(steps[middle + 1]).to});
}

function fill_legend() {
  kinds.forEach((kind, index) => {
    const button = element('button', {type: 'button', title: 'Show or hide'}, [
      element('span', {className: 'swatch', style: {background: 'var(--' + kind + ')'}}), kind]);
    button.setAttribute('aria-pressed', 'true');
    button.onclick = () => {
      hidden.has(index) ? hidden.delete(index) : hidden.add(index);
      button.setAttribute('aria-pressed', String(!hidden.has(index)));
      redraw();
    };
    byId('legend').append(button);
  });
}

// ---- Time split ----------------------------------------------------------------------------------------------

function split_time() {
  const sums = numbers.by_rank.map((rank) => Object.values(rank.tasks).reduce((sum, task) => sum + task.ms_per_step, 0));
  const most = Math.max(...sums, 1e-9);
  numbers.by_rank.forEach((rank, index) => {
    const parts = Object.entries(rank.tasks).filter(([, task]) => task.ms_per_step > 0).map(([kind, task]) => {
      const share = task.ms_per_step / most * 100;
      return element('span', {textContent: share > 7 ? digits(task.ms_per_step) : '',
        title: kind + ': ' + digits(task.ms_per_step) + ' ms per step in ' + digits(task.count, 9) + ' tasks',
        style: {width: share + '%', background: 'var(--' + kind + ')'}});
    });
    byId('split').append(element('div', {className: 'split-row'}, [
      element('div', {className: 'who', textContent: 'rank ' + rank.rank + ' '}, []),
      element('div', {className: 'bar'}, parts),
      element('div', {className: 'total', textContent: digits(sums[index]) + ' ms'})]));
    byId('split').lastChild.firstChild.append(element('small', {textContent: rank.host}));
  });
}

// ---- Gradients -----------------------------------------------------------------------------------------------

const fields = [
  {name: 'name', label: 'Gradient', text: true, css: 'text name'},
  {name: 'codec', label: 'Codec', text: true, css: 'text', show: (g) => (g.second_hop === g.codec ? g.codec : g.codec + ' \u2192 ' + g.second_hop)},
  {name: 'strategy', label: 'Strategy', text: true, css: 'text'},
  {name: 'partitions', label: 'Partitions', show: (g) => digits(g.partitions, 9)},
  {name: 'elements', label: 'Elements', show: (g) => g.elements.toLocaleString('en')},
  {name: 'bytes', label: 'In memory', show: (g) => bytes(g.bytes).join(' ')},
  {name: 'payload_bytes', label: 'Sent', show: (g) => bytes(g.payload_bytes).join(' ')},
  {name: 'ratio', label: 'Ratio', show: (g) => (g.ratio > 0 ? digits(g.ratio) + '\u00d7' : '-')},
  {name: 'mean_ms', label: 'Mean ms', meter: true, show: (g) => digits(g.mean_ms)},
  {name: 'exposed_ms', label: 'Exposed ms', meter: true, show: (g) => digits(g.exposed_ms)},
  {name: 'priority', label: 'Priority'},
];
let order = {field: fields.find((field) => field.name === 'mean_ms'), down: true};

function compare(a, b) {
  const x = a[order.field.name], y = b[order.field.name];
  return (order.field.text ? x.localeCompare(y, 'en', {numeric: true}) : x - y) * (order.down ? -1 : 1);
}

function gradient_row(gradient, most) {
  return element('tr', {}, fields.map((field) => {
    const cell = element('td', {className: (field.css || '') + (field.meter ? ' meter' : ''),
      textContent: field.show ? field.show(gradient) : String(gradient[field.name])});
    if (field.text) cell.title = cell.textContent;
    if (field.meter) cell.style.setProperty('--part', (100 * gradient[field.name] / (most[field.name] || 1)) + '%');
    return cell;
  }));
}

function fill_table() {
  const wanted = byId('filter').value.toLowerCase();
  const most = Object.fromEntries(fields.filter((field) => field.meter).map((field) =>
    [field.name, numbers.gradients.reduce((sum, gradient) => Math.max(sum, gradient[field.name]), 0)]));
  const shown = numbers.gradients.filter((g) => (g.name + ' ' + g.codec + ' ' + g.second_hop).toLowerCase().includes(wanted)).sort(compare);
  const head = element('tr', {}, fields.map((field) => {
    const cell = element('th', {className: field.text ? 'text' : ''}, [element('button', {type: 'button', textContent: field.label,
      onclick: () => { order = {field, down: order.field === field ? !order.down : !field.text}; fill_table(); }})]);
    if (order.field === field) cell.setAttribute('aria-sort', order.down ? 'descending' : 'ascending');
    return cell;
  }));
  byId('gradients').replaceChildren(element('thead', {}, [head]),
    element('tbody', {}, shown.map((gradient) => gradient_row(gradient, most))));
  byId('count').textContent = shown.length === numbers.gradients.length ? shown.length + ' gradients'
                                                                       : shown.length + ' of ' + numbers.gradients.length;
}

// ---- All of it -----------------------------------------------------------------------------------------------

function set_theme(dark) {
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  redraw();
}
const prefers_dark = matchMedia('(prefers-color-scheme: dark)');
set_theme(prefers_dark.matches);
prefers_dark.addEventListener('change', () => set_theme(prefers_dark.matches));
byId('theme').onclick = () => set_theme(document.documentElement.dataset.theme !== 'dark');
byId('filter').oninput = fill_table;
summarize();
fill_legend();
fill_step_list();
split_time();
fill_table();
listen_to_lanes();
listen_to_overview();
listen_to_keys();
new ResizeObserver(redraw).observe(byId('lanes'));
