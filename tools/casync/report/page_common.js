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

// So many significant digits; the whole part keeps all of its own.
function digits(value, count = 3) {
  if (!Number.isFinite(value)) return '-';
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential(1);
  const whole = value === 0 ? 1 : Math.floor(Math.log10(Math.abs(value))) + 1;
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
