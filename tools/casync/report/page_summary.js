// The cards and banners, and the bars of time by kind.
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
