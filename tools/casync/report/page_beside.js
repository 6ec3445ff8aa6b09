// Another run beside this one, when the report was made with --beside.
const beside_of = new Map((numbers.beside ? numbers.beside.gradients : []).map((pair) => [pair.name, pair]));

const codec_text = (codec, second_hop) => (codec === null ? '-' : second_hop === codec ? codec : codec + ' \u2192 ' + second_hop);

function signed(value, text = digits) {
  if (value === null) return '-';
  return (value > 0 ? '+' : value < 0 ? '\u2212' : '') + text(Math.abs(value));
}

// Labels and units of the terms of numbers.beside; the others are kinds of tasks, in milliseconds.
const kTerms = {
  ms_per_step: ['Time per step', 'ms'], first_step_ms: ['First step', 'ms'], exposed_ms_per_step: ['Exposed', 'ms'],
  hidden_ms_per_step: ['Hidden', 'ms'], backward_ms_per_step: ['Gradients within', 'ms'],
  payload_bytes_per_rank_step: ['Sent per rank and step', 'bytes'], wire_bytes_per_rank_step: ['Sent with headers', 'bytes'],
  ratio: ['Compression', '\u00d7']};

function beside_card(term) {
  const [label, unit] = kTerms[term.name] || [term.name, 'ms'];
  const text = (value) => (value === null ? '-' : unit === 'bytes' ? bytes(value).join(' ') : digits(value) + ' ' + unit);
  const share = term.difference !== null && term.there > 0 ? ' (' + signed(100 * term.difference / term.there) + ' %)' : '';
  const [value, own] = term.here === null ? ['-', ''] : unit === 'bytes' ? bytes(term.here) : [digits(term.here), unit];
  card(label, value, own, 'there ' + text(term.there) + share, 'beside-cards');
}

function show_beside() {
  if (!numbers.beside) return;
  const there = numbers.beside;
  byId('beside').hidden = false;
  byId('beside-runs').textContent = 'Here: ' + numbers.directory + ', ' + numbers.ranks + ' ranks. There: ' + there.directory + ', ' +
    there.ranks + ' ranks. Medians of a step, means over ranks; in brackets: how much more here. Each gradient\u2019s differences stand in the table.';
  for (const term of there.terms) beside_card(term);
  const only_there = there.gradients.filter((pair) => pair.mean_ms.here === null).map((pair) => pair.name);
  const only_here = there.gradients.filter((pair) => pair.mean_ms.there === null).map((pair) => pair.name);
  const lists = [['Only here', only_here], ['Only there', only_there]].filter(([, names]) => names.length > 0);
  byId('beside-only').textContent = lists.map(([title, names]) => title + ': ' + names.join(', ') + '.').join(' ');
}
