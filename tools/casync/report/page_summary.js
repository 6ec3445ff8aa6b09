// The cards and banners, and the bars of time by kind.
function banner(title, text) {
  byId('banners').append(element('div', {className: 'banner', role: 'note'}, [element('b', {textContent: title + ' '}), text]));
}

function card(label, value, unit, more, place = 'cards') {
  byId(place).append(element('div', {className: 'card'}, [
    element('div', {className: 'label', textContent: label}),
    element('div', {className: 'value', textContent: value + ' '}, []),
    element('div', {className: 'more', textContent: more || ''})]));
  if (unit) byId(place).lastChild.children[1].append(element('small', {textContent: unit}));
}

const percent = (part) => digits(100 * part, 2) + ' %';
const exposed_share = () => (numbers.ms_per_step > 0 ? numbers.exposed_ms_per_step / numbers.ms_per_step : 0);
const plain_ms = () => (numbers.prediction ? numbers.prediction.plain_step_ms : 0);
// The step that predictions stand beside: of local SGD the mean of a round.
const compared_ms = () => numbers.prediction.terms.find((term) => term.name === 'step').measured_ms;

// One sentence: how much of a step synchronization costs, and how much it saved.
function answer() {
  if (numbers.exposed_ms_per_step === null || !(numbers.ms_per_step > 0)) return '';
  const share = exposed_share();
  const cost = share < 0.02 ? 'Synchronization is hidden: the program waits for ' + percent(share) + ' of a step.'
    : percent(share) + ' of a step waits for synchronization: ' + digits(numbers.exposed_ms_per_step) + ' of ' + digits(numbers.ms_per_step) + ' ms.';
  if (!(plain_ms() > 0)) return cost;
  if (numbers.ratio < 1.1 && numbers.prediction.int4_step_ms) {
    return cost + ' With int4 it is predicted to take ' + digits(numbers.prediction.int4_step_ms) + ' ms instead of ' + digits(plain_ms()) + '.';
  }
  return cost + ' Uncompressed, a step is predicted to take ' + digits(plain_ms()) + ' ms: ' + digits(plain_ms() / compared_ms()) + '\u00d7 as long.';
}

// A curve of the length of all steps, of the slowest rank, above the time for which it waited.
function draw_series() {
  const {step, ms, exposed_ms} = numbers.series;
  if (step.length < 2) return;
  byId('series-section').hidden = false;
  const {context, width} = prepare(byId('series'), 120);
  const axis = 16, left = 60, height = 120 - axis;
  // The first step connects; a scale that holds it would flatten all others.
  const most = 1.1 * ms.slice(1).reduce((so_far, value) => Math.max(so_far, value), 1e-9);  // too many for arguments
  const x_of = (at) => left + at / (step.length - 1) * (width - left - 8), y_of = (value) => height - Math.min(1, value / most) * (height - 4);
  context.font = '11px system-ui, sans-serif';
  context.textAlign = 'right';
  context.fillStyle = color('soft');
  for (const value of [0, most / 2, most]) context.fillText(digits(value) + ' ms', left - 6, y_of(value) + 4);
  context.textAlign = 'left';
  context.fillText('step ' + step[0], left, 118);
  context.textAlign = 'right';
  context.fillText('step ' + step[step.length - 1], width - 8, 118);
  const curve = (values, name) => {
    context.strokeStyle = color(name);
    context.lineWidth = 1.5;
    context.beginPath();
    values.forEach((value, at) => context[at === 0 ? 'moveTo' : 'lineTo'](x_of(at), y_of(value)));
    context.stroke();
  };
  curve(ms, 'accent');
  if (numbers.exposed_ms_per_step !== null) curve(exposed_ms, 'wait');  // older traces do not say it
}

function summarize() {
  byId('subtitle').textContent = numbers.directory;
  byId('transport').textContent = numbers.transport;
  byId('answer').textContent = answer();
  document.title = 'CaSync report: ' + numbers.directory;
  if (numbers.link) {
    banner('The network was slowed down on purpose: CASYNC_LINK=' + numbers.link + '.',
           'Each rank\u2019s sending and receiving was paced to that rate, so these times are not those of the machine\u2019s own network.');
  }
  if (numbers.missing_ranks.length > 0) {
    banner('Not all ranks are here.', 'No trace was left by rank ' + numbers.missing_ranks.join(', ') + ' of ' + numbers.ranks +
           ': a rank that is killed writes none. All means are over the others.');
  }
  if (numbers.unequal) banner('Ranks are not equally fast.', 'As recorded, ' + numbers.unequal + '.');
  const dropped = numbers.by_rank.reduce((sum, rank) => sum + rank.dropped_events, 0);
  if (dropped > 0) banner('The timelines are not complete.', digits(dropped, 9) + ' events found no room and are missing.');
  if (!columns.all_steps) {
    banner('The timeline shows steps ' + columns.steps.join(' to ') + ' of ' + numbers.traced_steps + '.',
           'The numbers are those of all steps. casync report --steps FIRST..LAST shows others.');
  }
  const hosts = new Set(numbers.by_rank.map((rank) => rank.host));
  card('Ranks', numbers.ranks, '', hosts.size + (hosts.size === 1 ? ' host' : ' hosts'));
  card('Steps', digits(numbers.steps, 9), '', numbers.traced_steps + ' of them traced');
  card('Time per step', digits(numbers.ms_per_step), 'ms', 'median; the first step took ' + digits(numbers.first_step_ms) + ' ms');
  if (numbers.exposed_ms_per_step !== null) {
    card('Compute', digits(numbers.ms_per_step - numbers.exposed_ms_per_step), 'ms', 'the program did not wait');
    card('Exposed', digits(numbers.exposed_ms_per_step), 'ms', 'the program waited for gradients: ' + percent(exposed_share()));
    card('Hidden', digits(numbers.hidden_ms_per_step), 'ms', 'synchronization during compute');
  }
  if (numbers.backward_ms_per_step !== null) {
    card('Gradients within', digits(numbers.backward_ms_per_step), 'ms', 'backward pass, from the first gradient to the last');
  }
  if (plain_ms() > 0) card('Speed-up', digits(plain_ms() / compared_ms()), '\u00d7', digits(plain_ms()) + ' ms uncompressed, predicted');
  card('Sent per rank and step', ...bytes(numbers.payload_bytes_per_rank_step), bytes(numbers.wire_bytes_per_rank_step).join(' ') + ' with headers');
  link_card();
  card('Compression', numbers.ratio > 0 ? digits(numbers.ratio) : '-', '\u00d7', bytes(numbers.plain_bytes_per_rank_step).join(' ') + ' without codecs');
}

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
