// What was predicted beside what was measured, when the report was made with a profile.
const predicted = new Map((numbers.prediction ? numbers.prediction.gradients : []).map((term) => [term.name, term]));

function off_percent(term) {
  return term && term.predicted_ms > 0 ? 100 * (term.measured_ms / term.predicted_ms - 1) : NaN;
}

function off_text(term) {
  const off = off_percent(term);
  return Number.isFinite(off) ? (off >= 0 ? '+' : '\u2212') + digits(Math.abs(off), 3) + ' %' : '-';
}

function predicted_text(term) {
  return term.predicted_ms === null ? 'not predicted' : digits(term.predicted_ms) + ' ms ' + off_text(term);
}

function prediction_bar(ms, most, kind, hint) {
  return element('div', {className: 'bar', title: hint + ': ' + digits(ms, 4) + ' ms'}, [
    element('span', {style: {width: 100 * ms / most + '%', background: 'var(--' + kind + ')'}})]);
}

/// A pair of bars for each term; what is furthest off in milliseconds, apart from the step itself, is marked.
function show_prediction() {
  if (!numbers.prediction) return;
  const terms = numbers.prediction.terms;
  const most = Math.max(...terms.flatMap((term) => [term.measured_ms, term.predicted_ms]), 1e-9);
  byId('prediction').hidden = false;
  byId('verdict').textContent = numbers.prediction.verdict + '.';
  for (const term of terms) {
    const kind = ['encode', 'merge', 'decode', 'send', 'recv'].includes(term.name) ? term.name : 'step';
    byId('terms').append(element('div', {className: 'split-row term'}, [
      element('div', {className: 'who', textContent: term.name + (term.name === numbers.prediction.to_blame ? ' \u25c0' : '')}),
      element('div', {}, [prediction_bar(term.measured_ms, most, kind, term.name + ', measured'),
                          ...(term.predicted_ms === null ? [] : [prediction_bar(term.predicted_ms, most, 'soft', term.name + ', predicted')])]),
      element('div', {className: 'total', textContent: digits(term.measured_ms) + ' / ' + predicted_text(term)})]));
  }
}
