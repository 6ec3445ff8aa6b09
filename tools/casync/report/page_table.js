// The table of gradients.
const fields = [
  {name: 'name', label: 'Gradient', text: true, css: 'text name'},
  {name: 'codec', label: 'Codec', text: true, css: 'text', show: (g) => codec_text(g.codec, g.second_hop)},
  {name: 'strategy', label: 'Strategy', text: true, css: 'text', show: (g) => (g.servers > 0 ? g.strategy + ' with ' + g.servers + (g.dedicated > 0 ? ' dedicated' : '') + (g.servers > 1 ? ' servers' : ' server') : g.strategy)},
  {name: 'partitions', label: 'Partitions', show: (g) => digits(g.partitions, 9)},
  {name: 'elements', label: 'Elements', show: (g) => g.elements.toLocaleString('en')},
  {name: 'bytes', label: 'In memory', show: (g) => bytes(g.bytes).join(' ')},
  {name: 'payload_bytes', label: 'Sent', show: (g) => bytes(g.payload_bytes).join(' ')},
  {name: 'ratio', label: 'Ratio', show: (g) => (g.ratio > 0 ? digits(g.ratio) + '\u00d7' : '-')},
  {name: 'mean_ms', label: 'Mean ms', meter: true, show: (g) => digits(g.mean_ms)},
  {name: 'exposed_ms', label: 'Exposed ms', meter: true, show: (g) => digits(g.exposed_ms)},
  {name: 'priority', label: 'Priority'},
];
if (numbers.prediction) {
  for (const gradient of numbers.gradients) {
    const term = predicted.get(gradient.name);
    gradient.predicted_ms = term ? term.predicted_ms : 0;
    gradient.off_ms = term ? Math.abs(term.measured_ms - term.predicted_ms) : 0;
  }
  const place = fields.findIndex((field) => field.name === 'exposed_ms');
  fields.splice(place, 0, {name: 'predicted_ms', label: 'Predicted ms', show: (g) => (predicted.has(g.name) ? digits(g.predicted_ms) : '-')},
                {name: 'off_ms', label: 'Off', meter: true, show: (g) => off_text(predicted.get(g.name))});
}
if (numbers.beside) {
  for (const gradient of numbers.gradients) {
    const pair = beside_of.get(gradient.name);
    gradient.there_codec = codec_text(pair.codec.there, pair.second_hop.there);
    gradient.there_ms = pair.mean_ms.there;
    gradient.more_ms = pair.mean_ms.difference;
    gradient.more_exposed_ms = pair.exposed_ms.difference;
    gradient.more_bytes = pair.payload_bytes.difference;
  }
  fields.push({name: 'there_codec', label: 'Codec there', text: true, css: 'text'},
              {name: 'there_ms', label: 'Mean ms there', show: (g) => (g.there_ms === null ? '-' : digits(g.there_ms))},
              {name: 'more_ms', label: 'Mean ms, difference', show: (g) => signed(g.more_ms)},
              {name: 'more_exposed_ms', label: 'Exposed ms, difference', show: (g) => signed(g.more_exposed_ms)},
              {name: 'more_bytes', label: 'Sent, difference', show: (g) => signed(g.more_bytes, (value) => bytes(value).join(' '))});
}
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
