// Moving about in the timeline: pointer, wheel, keys, lists.
const kLeastSpan = 5;  // microseconds: nothing finer was measured
const span_within = (span) => Math.min(Math.max(span, kLeastSpan), total);

function look(from, to) {
  const span = span_within(to - from);
  from = Math.min(Math.max(from, 0), total - span);
  view = {from, to: from + span};
  redraw();
}

function zoom(factor, at = (view.from + view.to) / 2) {
  const span = view.to - view.from, within = span_within(span * factor) / span;
  look(at - (at - view.from) * within, at + (view.to - at) * within);
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
  const gradient = columns.gradient[event], partition = columns.partition[event];
  const title = kinds[columns.kind[event]] + (gradient >= 0 ? ' ' + columns.names[gradient] : '') + (partition >= 0 ? '[' + partition + ']' : '');
  const lines = [['rank', columns.rank[event]], ['step', columns.step[event]], ['duration', duration(columns.duration_us[event])],
                 ['start', duration(columns.start_us[event])]];
  if (columns.bytes[event] > 0) lines.push(['bytes', columns.bytes[event].toLocaleString('en')]);
  if (columns.hop[event] >= 0) lines.push(['hop', columns.hop[event]]);
  if (columns.peer[event] >= 0) lines.push([kinds[columns.kind[event]] === 'send' ? 'to rank' : 'from rank', columns.peer[event]]);
  if (columns.bytes[event] > 0 && columns.peer[event] >= 0 && columns.duration_us[event] > 0) {
    lines.push(['rate', digits(columns.bytes[event] * 8 / columns.duration_us[event] / 1e3) + ' Gb/s']);
  }
  place_tip(title, lines, pointer);
}

function place_tip(title, lines, pointer) {
  const tip = byId('tip');
  tip.hidden = false;
  tip.replaceChildren(element('b', {textContent: title}), ...lines.map(([name, value]) =>
    element('div', {}, [element('span', {textContent: name}), element('span', {textContent: String(value)})])));
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(pointer.clientX + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = (pointer.clientY + 18 + box.height > innerHeight ? pointer.clientY - box.height - 12 : pointer.clientY + 18) + 'px';
}

function listen_to_lanes() {
  let drag = null;
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;  // the browser's menu may swallow the end
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
    const flow = found < 0 ? flow_at(event) : undefined;
    if (flow) place_tip(...flow_text(flow, event), event); else show_tip(found, event);
  });
  const end_drag = () => {
    drag = null;
    canvas.classList.remove('dragging');
  };
  canvas.addEventListener('pointercancel', end_drag);
  canvas.addEventListener('pointerup', (event) => {
    const y = event.clientY - canvas.getBoundingClientRect().top;
    const label = labels.find((one) => one.rank && y >= one.top && y < one.bottom);
    const on_label = event.clientX - canvas.getBoundingClientRect().left < kGutter;
    if (drag && !drag.moved && on_label && label) { label.rank.open = !label.rank.open; redraw(); }
    end_drag();
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

// Dragging chooses a part; a click, which may tremble, moves the view there.
function listen_to_overview() {
  let drag = null;
  const time = (event) => (event.clientX - overview.getBoundingClientRect().left) / overview.clientWidth * total;
  overview.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    drag = {x: event.clientX, start: time(event), moved: false};
    overview.setPointerCapture(event.pointerId);
  });
  overview.addEventListener('pointermove', (event) => {
    if (!drag) return;
    drag.moved = drag.moved || Math.abs(drag.x - event.clientX) > 3;
    if (drag.moved) look(Math.min(drag.start, time(event)), Math.max(drag.start, time(event)));
  });
  overview.addEventListener('pointercancel', () => { drag = null; });
  overview.addEventListener('pointerup', (event) => {
    const half = (view.to - view.from) / 2, at = time(event);
    if (drag && !drag.moved) look(at - half, at + half);
    drag = null;
  });
}

function listen_to_keys() {
  const move = (part) => look(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));
  const actions = {w: () => zoom(0.6), s: () => zoom(1 / 0.6), a: () => move(-0.2), d: () => move(0.2), 0: () => look(0, total),
                   ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), '+': () => zoom(0.6), '-': () => zoom(1 / 0.6)};
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT/.test(event.target.tagName)) return;
    const action = actions[event.key] || actions[event.key.toLowerCase()];  // with Shift or Caps Lock, too
    if (action) { event.preventDefault(); action(); }
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

function legend_button(key, name, swatch) {
  const button = element('button', {type: 'button', title: 'Show or hide'}, [
    element('span', {className: 'swatch', style: {background: 'var(--' + swatch + ')'}}), name]);
  button.setAttribute('aria-pressed', 'true');
  button.onclick = () => {
    hidden.has(key) ? hidden.delete(key) : hidden.add(key);
    button.setAttribute('aria-pressed', String(!hidden.has(key)));
    redraw();
  };
  byId('legend').append(button);
}

function fill_legend() {
  kinds.forEach((kind, index) => legend_button(index, kind, kind));
  if (flows.length > 0) legend_button(kLinks, 'out, in', 'send');
}
