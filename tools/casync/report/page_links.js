// The ranks' links: the busiest one as a card, and the rate out of and into each rank as lanes of the timeline.
const kFlow = 26, kLinks = 'links';
const flows = columns.flows;
const flow_top = numbers.links.gbit_per_s ||
  flows.reduce((most, flow) => flow.gbit_per_s.reduce((a, b) => Math.max(a, b), most), 1e-9);  // Gb/s, a lane's height

// Gigabits per second times microseconds that have gone by at each change of the rate.
for (const flow of flows) {
  flow.sum = new Float64Array(flow.at_us.length);
  for (let i = 1; i < flow.at_us.length; ++i) {
    flow.sum[i] = flow.sum[i - 1] + flow.gbit_per_s[i - 1] * (flow.at_us[i] - flow.at_us[i - 1]);
  }
}

function gone_by(flow, us) {
  let low = 0, high = flow.at_us.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (flow.at_us[middle] <= us) low = middle + 1; else high = middle;
  }
  return low === 0 ? 0 : flow.sum[low - 1] + flow.gbit_per_s[low - 1] * (us - flow.at_us[low - 1]);
}

const mean_rate = (flow, from, to) => (gone_by(flow, to) - gone_by(flow, from)) / (to - from);

// Each pixel shows the mean rate of its time; the lane's height is the link's rate, or else the highest one.
function draw_flow(context, row, width) {
  const us_per_pixel = (view.to - view.from) / (width - kGutter);
  context.fillStyle = color('stripe');
  context.fillRect(kGutter, row.y, width - kGutter, kFlow);
  context.fillStyle = color(row.flow.way === 'out' ? 'send' : 'recv');
  for (let x = kGutter; x < width; ++x) {
    const from = view.from + (x - kGutter) * us_per_pixel;
    const height = kFlow * Math.min(1, mean_rate(row.flow, from, from + us_per_pixel) / flow_top);
    if (height > 0.1) context.fillRect(x, row.y + kFlow - height, 1, height);
  }
}

const rate_parts = (gbit) => (gbit >= 1 ? [digits(gbit), 'Gb/s'] : [digits(1000 * gbit), 'Mb/s']);
const rate_text = (gbit) => rate_parts(gbit).join(' ');

function flow_at(pointer) {
  const box = canvas.getBoundingClientRect(), y = pointer.clientY - box.top;
  if (pointer.clientX - box.left < kGutter) return undefined;
  return rows.find((one) => one.flow && y >= one.y && y < one.y + kFlow);
}

// The tip of a lane's moment: its title and lines.
function flow_text(row, pointer) {
  const time = time_at(pointer), half = (view.to - view.from) / (canvas.clientWidth - kGutter) * 2;
  const rate = mean_rate(row.flow, time - half, time + half);
  const lines = [['rate', rate_text(rate)]];
  if (numbers.links.gbit_per_s !== null) lines.push(['of the link', percent(rate / numbers.links.gbit_per_s)]);
  return [(row.flow.way === 'out' ? 'out of rank ' : 'into rank ') + row.flow.rank, lines];
}

function busiest_way() {
  const ways = numbers.links.by_rank.flatMap((rank) => ['out', 'in'].map((way) => ({rank: rank.rank, way, ...rank[way]})));
  return ways.reduce((best, one) => (one.gbit_per_s > best.gbit_per_s ? one : best), {gbit_per_s: 0});
}

function link_card() {
  const links = numbers.links, best = busiest_way();
  if (!(best.gbit_per_s > 0)) return;
  const where = (best.way === 'out' ? 'out of' : 'into') + ' rank ' + best.rank;
  const more = where + '; while a message is on its way (' + percent(best.busy) + ' of the time) ' + rate_text(best.busy_gbit_per_s);
  if (links.gbit_per_s === null) {
    card('Busiest link', ...rate_parts(best.gbit_per_s), more);
  } else {
    card('Busiest link', digits(100 * best.utilization), '%', rate_text(best.gbit_per_s) + ' of ' + rate_text(links.gbit_per_s) + ' ' + more);
  }
  byId('flow-scale').textContent = links.gbit_per_s === null ? ', as high as the highest of all' : ', as high as the link\u2019s ' + rate_text(links.gbit_per_s);
}
