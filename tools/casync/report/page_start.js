// All of it, in order.
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
show_prediction();
show_beside();
split_time();
fill_table();
listen_to_lanes();
listen_to_overview();
listen_to_keys();
new ResizeObserver(redraw).observe(byId('lanes'));
