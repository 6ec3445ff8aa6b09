// The timeline: lanes of all ranks, drawn on one canvas.
const kGutter = 112, kRow = 11, kGap = 3, kRankGap = 12, kAxis = 22, kMostRows = 6, kOpenRanks = 8;
const hidden = new Set();  // kinds switched off in the legend, and kLinks
const count = columns.start_us.length;
const is_pass = (kind) => kind === 0 || kinds[kind] === 'backward';  // what the program does, and no work of the session
const end_of = (event) => columns.start_us[event] + columns.duration_us[event];
let total = 1;
for (let event = 0; event < count; ++event) total = Math.max(total, end_of(event));

// Events of one lane that overlap in time go into rows of their own, so that none hides another.
function pack(events, most = kMostRows) {
  events.sort((a, b) => columns.start_us[a] - columns.start_us[b]);
  const rows = [];
  for (const event of events) {
    let row = rows.find((one) => one.end <= columns.start_us[event]);
    if (!row && rows.length < most) rows.push(row = {events: [], end: 0});
    if (!row) row = rows.reduce((best, one) => (one.end < best.end ? one : best));
    row.events.push(event);
    row.end = Math.max(row.end, end_of(event));
  }
  return rows.map((row) => row.events);
}

const ranks = numbers.by_rank.map((rank, index) => ({
  rank: rank.rank, open: index < kOpenRanks, lanes: kinds.map(() => []), all: [],
  flows: flows.filter((flow) => flow.rank === rank.rank)}));
const rank_index = new Map(ranks.map((rank, index) => [rank.rank, index]));
for (let event = 0; event < count; ++event) {
  const rank = ranks[rank_index.get(columns.rank[event])];
  rank.lanes[columns.kind[event]].push(event);
  if (!is_pass(columns.kind[event]) && kinds[columns.kind[event]] !== 'wait') rank.all.push(event);
}
for (const rank of ranks) {
  rank.lanes = rank.lanes.map((lane, kind) => pack(lane, is_pass(kind) ? 1 : kMostRows));  // steps only touch
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
      for (const flow of hidden.has(kLinks) ? [] : rank.flows) {
        labels.push({y: y + kFlow / 2, text: flow.way});
        rows.push({y, events: [], flow});
        y += kFlow + kGap;
      }
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

// A wait is for all partitions of its gradient.
function related(event) {
  if (hovered < 0 || columns.gradient[hovered] < 0 || columns.gradient[event] !== columns.gradient[hovered]) return false;
  const own = columns.partition[event], other = columns.partition[hovered];
  return columns.step[event] === columns.step[hovered] && (own === other || own < 0 || other < 0);
}

// A moment with the digits that tell it from the next tick.
function tick_text(us, step) {
  if (us === 0) return '0';
  const [unit, name] = us >= 1e6 ? [1e6, ' s'] : us >= 1e3 ? [1e3, ' ms'] : [1, ' us'];
  return (us / unit).toLocaleString('en', {maximumFractionDigits: Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9))}) + name;
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
    context.fillText(tick_text(tick, step), x + 3, 12);
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
    context.globalAlpha = hovered < 0 || columns.gradient[hovered] < 0 || related(event) || is_pass(kind) ? 1 : 0.25;
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
  for (const row of rows) {
    if (row.flow) draw_flow(context, row, width); else draw_row(context, row, x_of, palette);
  }
  draw_labels(context, width);
  draw_overview(palette);
  draw_series();
}

// How busy each moment is, by kind, over everything; the part in view is framed.
function draw_overview(palette) {
  const {context, width} = prepare(overview, 34);
  const slots = Math.max(1, Math.floor(width / 3));
  if (!overview.busy || overview.busy.slots !== slots) {
    overview.busy = {slots, value: kinds.map(() => new Float64Array(slots)), most: 0};
    for (let event = 0; event < count; ++event) {
      if (is_pass(columns.kind[event])) continue;
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
