// Curves of a report: uPlot charts that share zoom, cursor and the player's time.
const COLORS = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#bcbd22", "#7f7f7f"];
const page = JSON.parse(document.getElementById("curves").textContent);
const frames = [...document.querySelectorAll("iframe.motion")], start = Number(frames[0].dataset.start);
const dark = matchMedia("(prefers-color-scheme: dark)");
let charts = [], zooming = false;

function numbers(text) {  // float32 in base64; what is not a number is a gap
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  return Array.from(new Float32Array(bytes.buffer), x => Number.isFinite(x) ? x : null);
}
function style(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

function shade(u, chart) {  // stretches that were not optimal, events, and the limit
  const c = u.ctx, {left, top, width, height} = u.bbox, x = t => u.valToPos(t, "x", true);
  c.save(); c.beginPath(); c.rect(left, top, width, height); c.clip();
  c.fillStyle = "rgba(240, 140, 0, 0.15)";
  for (const [a, b] of page.spells) c.fillRect(x(a), top, Math.max(1, x(b) - x(a)), height);
  c.strokeStyle = style("--faint"); c.setLineDash([2, 4]);
  for (const t of page.events) { c.beginPath(); c.moveTo(x(t), top); c.lineTo(x(t), top + height); c.stroke(); }
  if (chart.limit !== null) {
    const y = u.valToPos(chart.limit, "y", true);
    c.strokeStyle = style("--bad"); c.setLineDash([]); c.beginPath(); c.moveTo(left, y); c.lineTo(left + width, y); c.stroke();
  }
  c.restore();
}

function zoomed(u, key) {  // one time axis for all
  if (key !== "x" || zooming) return;
  zooming = true;
  const {min, max} = u.scales.x;
  for (const other of charts) if (other.u !== u) other.u.setScale("x", {min, max});
  zooming = false;
}

function made(box, chart) {
  const tables = chart.tables.map(t => [numbers(t.t), ...t.lines.map(line => numbers(line.y))]);
  const lines = chart.tables.flatMap((t, k) => t.lines.map(line => ({...line, run: k})));
  const axis = {stroke: style("--ink"), grid: {stroke: style("--line"), width: 1}, ticks: {stroke: style("--line")}};
  const names = chart.tables[0].lines.map(line => line.name);
  const u = new uPlot({
    title: chart.title, width: box.clientWidth, height: 230,
    cursor: {sync: {key: "time"}, drag: {x: true, y: false}},
    scales: {x: {time: false}, y: {distr: chart.log ? 3 : 1, range: (_, low, high) => range(chart, low, high)}},
    axes: [{...axis, label: "time, s", labelSize: 18}, {...axis, label: chart.unit, labelSize: 18, size: 70, values: (_, ticks) => ticks.map(tick)}],
    series: [{label: "s"}, ...lines.map(line => ({
      label: line.run ? `${line.name} (${page.runs[line.run]})` : line.name, show: line.shown, width: 1.5,
      stroke: COLORS[Math.max(0, names.indexOf(line.name)) % COLORS.length], dash: line.run ? [6, 4] : undefined,
    }))],
    hooks: {drawClear: [u => shade(u, chart)], setScale: [zoomed]},
  }, tables.length > 1 ? uPlot.join(tables) : tables[0], box);
  const line = document.createElement("div");
  line.className = "now";
  u.over.append(line);
  let pressed = 0;
  u.over.addEventListener("mousedown", event => { pressed = event.clientX; });
  u.over.addEventListener("click", event => {
    if (Math.abs(event.clientX - pressed) < 4 || !event.detail) seek(u.posToVal(event.clientX - u.over.getBoundingClientRect().left, "x"));
  });
  return {u, line};
}

function tick(x) {
  if (x === null) return "";
  return x !== 0 && Math.abs(x) < 1e-3 ? x.toExponential(0) : String(Number(x.toPrecision(6)));
}

function range(chart, low, high) {
  if (low === null) return [0, 1];
  if (chart.log) return [Math.max(chart.floor, low / 1.5), Math.max(2 * chart.floor, high * 1.5)];
  if (chart.limit !== null) { low = Math.min(low, chart.limit); high = Math.max(high, chart.limit); }
  const room = 0.06 * (high - low) || 0.5;
  return [low - room, high + room];
}

function build() {
  for (const {u} of charts) u.destroy();
  charts = page.charts.map(chart => made(document.getElementById(chart.key), chart));
}

function inside(frame, selector) { return frame.contentDocument ? frame.contentDocument.querySelector(selector) : null; }
function now() {
  const slider = inside(frames[0], '[role="slider"]');
  return slider ? start + Number(slider.getAttribute("aria-valuenow")) : null;
}
function seek(t) {  // the player keeps its time in its own controls: written there, and read there for the cursors
  for (const frame of frames) {
    const box = inside(frame, "input[inputmode]");
    if (!box) continue;
    const set = Object.getOwnPropertyDescriptor(frame.contentWindow.HTMLInputElement.prototype, "value").set;
    set.call(box, String(Math.max(0, t - Number(frame.dataset.start))));
    box.dispatchEvent(new Event("input", {bubbles: true}));
  }
}
function draw() {
  const t = now();
  if (t !== null) for (const {u, line} of charts) line.style.left = `${u.valToPos(t, "x")}px`;
  requestAnimationFrame(draw);
}
build();
dark.addEventListener("change", build);
addEventListener("resize", () => { for (const {u} of charts) u.setSize({width: u.root.parentElement.clientWidth, height: 230}); });
draw();
