// Curves of a report: uPlot charts that share zoom, cursor and the player's time.
const COLORS = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#bcbd22", "#7f7f7f"];
const page = JSON.parse(document.getElementById("curves").textContent);
const frames = [...document.querySelectorAll("iframe.motion")], start = Number(frames[0].dataset.start);
const dark = matchMedia("(prefers-color-scheme: dark)");
let charts = [], zooming = false, tables = [];

const narrow = () => innerWidth < 700;
function bytesOf(text) { return Uint8Array.from(atob(text), c => c.charCodeAt(0)); }
async function unpacked(table) {  // curves.py: differences of 16-bit levels, low bytes first, deflated
  const stream = new Blob([bytesOf(table.columns)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return {t: Array.from(new Float32Array(bytesOf(table.t).buffer)), bytes: new Uint8Array(await new Response(stream).arrayBuffer())};
}
function numbers({t, bytes}, {at, low, high}, log) {  // what is not a number is a gap
  const rows = t.length, start = 2 * at * rows, values = new Array(rows);
  for (let k = 0, level = 0; k < rows; ++k) {
    level = (level + bytes[start + k] + 256 * bytes[start + rows + k]) & 65535;
    const x = low + level * (high - low) / 65534;
    values[k] = level === 65535 ? null : log ? 10 ** x : x;
  }
  return values;
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
    c.strokeStyle = style(chart.judged ? "--bad" : "--faint"); c.setLineDash(chart.judged ? [] : [6, 4]); c.beginPath(); c.moveTo(left, y); c.lineTo(left + width, y); c.stroke();
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

function side() {  // one width for all, so that bands and curves stand above each other
  if (narrow()) return 72;
  const c = document.createElement("canvas").getContext("2d");
  c.font = "12px system-ui, sans-serif";
  return Math.ceil(Math.max(62, ...page.bands.map(band => c.measureText(band.name).width + 14)));
}
function axes(chart, more) {
  const axis = {stroke: style("--ink"), grid: {stroke: style("--line"), width: 1}, ticks: {stroke: style("--line")}};
  return [{...axis, label: "time, s", labelSize: 18}, {...axis, label: chart.unit, labelSize: 18, size: side(), ...more}];
}

function made(box, chart) {
  const columns = chart.tables.map((lines, k) => [tables[k].t, ...lines.map(line => numbers(tables[k], line, chart.log))]);
  const lines = chart.tables.flatMap((found, k) => found.map(line => ({...line, run: k})));
  const names = chart.tables[0].map(line => line.name);
  const u = new uPlot({
    title: chart.title, width: box.clientWidth, height: 230,
    cursor: {sync: {key: "time"}, drag: {x: true, y: false}},
    scales: {x: {time: false}, y: {distr: chart.log ? 3 : 1, range: (_, low, high) => range(chart, low, high)}},
    axes: axes(chart, {values: (_, ticks) => ticks.map(tick)}),
    series: [{label: "s"}, ...lines.map(line => ({
      label: line.run ? `${line.name} (${page.runs[line.run]})` : line.name, show: line.shown, width: 1.5,
      value: (_, x) => x === null ? "" : String(Number(x.toPrecision(4))), points: {show: false},
      stroke: COLORS[Math.max(0, names.indexOf(line.name)) % COLORS.length], dash: line.run ? [6, 4] : undefined,
    }))],
    hooks: {drawClear: [u => shade(u, chart)], setScale: [zoomed]},
  }, columns.length > 1 ? uPlot.join(columns) : columns[0], box);
  fold(box, lines.filter(line => !line.shown).length);
  return withCursor(u);
}

function fold(box, hidden) {  // names of curves that are not shown wait behind a button
  box.classList.toggle("folded", hidden > 0);
  if (!hidden) return;
  const button = document.createElement("button");
  button.textContent = `${hidden} more`;
  button.onclick = () => { box.classList.remove("folded"); button.remove(); };
  box.querySelector(".u-legend").append(button);
}

function withCursor(u) {
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

const PHASES = ["#adb5bd", "#ffd43b", "#868e96", "#8ce99a", "#b197fc", "#ffa8a8", "#66d9e8", "#ffc078"];
const PLANNED = "#74c0fc", FELT = "#1864ab";
function phaseColor(name) { return PHASES[[...new Set(page.phases.map(phase => phase[0]))].indexOf(name) % PHASES.length]; }
function bands() {  // contacts and phases over the same time axis as the curves
  const rows = [...page.bands.map(band => band.name), ...(page.phases.length ? ["phases"] : [])], t = tables[0].t;
  if (!page.bands.length) return [];
  const bar = (u, row, a, b, color, part) => {
    const c = u.ctx, one = u.bbox.height / rows.length, x = u.valToPos(a, "x", true), wide = u.valToPos(b, "x", true) - x;
    c.fillStyle = color;
    if (wide > 0.3) c.fillRect(x, u.bbox.top + one * (row + (1 - part) / 2), wide, one * part);
  };
  const draw = u => {
    const {left, top, width, height} = u.bbox;
    u.ctx.save(); u.ctx.beginPath(); u.ctx.rect(left, top, width, height); u.ctx.clip();
    page.bands.forEach((band, row) => {
      for (const [a, b] of band.planned) bar(u, row, a, b, PLANNED, 0.7);
      for (const [a, b] of band.felt) bar(u, row, a, b, FELT, 0.35);
    });
    for (const [name, a, b] of page.phases) bar(u, rows.length - 1, a, b, phaseColor(name), 0.7);
    u.ctx.restore();
  };
  const box = document.getElementById("bands"), short = name => narrow() && name.length > 10 ? name.slice(0, 9) + "…" : name;
  const u = new uPlot({
    title: "contacts and phases", width: box.clientWidth, height: 92 + 24 * rows.length, legend: {show: false},
    cursor: {sync: {key: "time"}, drag: {x: true, y: false}},
    scales: {x: {time: false}, y: {range: [0, rows.length]}},
    axes: axes({unit: ""}, {splits: () => rows.map((_, k) => rows.length - k - 0.5), values: () => rows.map(short), grid: {show: false}, ticks: {show: false}}),
    series: [{}, {show: true, points: {show: false}}], hooks: {draw: [draw], setScale: [zoomed]},
  }, [t, t.map(() => null)], box);
  const key = document.createElement("div"), names = [...new Set(page.phases.map(phase => phase[0]))];
  key.className = "key";
  for (const [color, name] of [[PLANNED, "counted on by the controller"], [FELT, "felt"], ...names.map(name => [phaseColor(name), name])]) {
    const entry = document.createElement("span"), mark = document.createElement("i");
    mark.style.background = color;
    entry.append(mark, name);
    key.append(entry);
  }
  box.querySelector(".key")?.remove();
  box.append(key);
  return [withCursor(u)];
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
  const before = charts.length ? charts[0].u.scales.x : null;
  for (const {u} of charts) u.destroy();
  charts = [];
  charts = [...bands(), ...page.charts.map(chart => made(document.getElementById(chart.key), chart))];
  if (before) charts[0].u.setScale("x", {min: before.min, max: before.max});
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
const follow = document.getElementById("follow");
follow.addEventListener("change", () => { for (const frame of frames) frame.contentWindow.equipoiseFollow = follow.checked; });
dark.addEventListener("change", build);
addEventListener("resize", () => { if (charts.length && charts[0].u.width !== document.getElementById(page.charts[0].key).clientWidth) build(); });
Promise.all(page.tables.map(unpacked)).then(found => { tables = found; build(); draw(); });
