(function () {
"use strict";
var css = function (name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); };
var colours = {live: "--live", idle: "--idle", untracked: "--untracked", host: "--host", heap: "--heap", file: "--file"};
var dashes = {idle: [9, 3], untracked: [3, 2.5], heap: [9, 3], file: [3, 2.5]};
var plots = [];

function bytes(v) {
	if (v == null) return "–";
	var u = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"], i = 0, a = Math.abs(v);
	while (a >= 1023.95 && i < u.length - 1) { a /= 1024; i++; }
	return (v < 0 ? "−" : "") + a.toFixed(a >= 100 || a === Math.trunc(a) && a < 10 ? 0 : a >= 10 ? 1 : 2) + " " + u[i];
}
function count(v) { return v == null ? "–" : Math.round(v).toLocaleString("en"); }
function at(v, axis) {
	if (axis !== "s") return axis + " " + count(v);
	if (v < 120) return +v.toFixed(v < 10 ? 2 : 1) + " s";
	if (v < 7200) return +(v / 60).toFixed(1) + " min";
	return +(v / 3600).toFixed(2) + " h";
}
function lineOf(id) {
	var thin = !colours[id];
	return {stroke: function () { return css(colours[id] || "--total"); }, dash: dashes[id], width: thin || id === "file" ? 1.25 : 2,
		points: {show: false}, spanGaps: false};
}

function enliven(fig) {
	var chart = JSON.parse(fig.querySelector("script").textContent), data = chart.data, xs = data[0];
	data.forEach(function (v) { for (var i = 0; i < v.length; i++) if (v[i] === false) v[i] = undefined; });
	var svg = fig.querySelector("svg.plot"), items = fig.querySelectorAll(".legend li");
	var isBytes = fig.dataset.unit === "bytes", show = isBytes ? bytes : count, axis = fig.dataset.axis;
	var box = document.createElement("div");
	box.className = "live-plot";
	box.tabIndex = 0;
	box.setAttribute("role", "img");
	box.setAttribute("aria-label", svg.querySelector("desc").textContent);
	var hint = document.createElement("p"), resting = "Drag to zoom, double-click to see all. Keys: arrows read values, + and − zoom, 0 shows all.";
	hint.className = "hint";
	if (plots.length) resting = ""; // said once is enough
	hint.textContent = resting;
	var series = [{}], values = [];
	items.forEach(function (li) {
		var id = li.dataset.line, b = li.querySelector("b");
		values.push({node: b, last: b.textContent});
		series.push(lineOf(id));
	});
	var font = "12px system-ui, sans-serif";
	var opts = {
		width: fig.clientWidth, height: 250, padding: [18, 8, 0, 0], series: series, legend: {show: false},
		scales: {x: {time: false}, y: {range: function (u, lo, hi) { return around(lo, hi, isBytes); }}},
		cursor: {sync: {key: "gpumem-" + axis}, drag: {x: true, y: false}, points: {size: 6}, y: false},
		axes: [
			{stroke: function () { return css("--soft"); }, font: font, grid: {show: false}, ticks: {show: false}, size: 26,
				splits: function (u, i, lo, hi) { return places(lo, hi, axis, Math.max(2, Math.min(8, u.width / 130))); },
				values: function (u, vs) { return vs.map(function (v) { return at(v, axis); }); }},
			{stroke: function () { return css("--soft"); }, font: font, size: 74, ticks: {show: false},
				grid: {stroke: function () { return css("--rule"); }, width: 1},
				values: function (u, vs) { return labels(vs, isBytes); },
				splits: function (u, i, lo, hi, inc) { return splits(lo, hi, isBytes); }}
		],
		hooks: {drawClear: [function (u) { under(u, chart); }], draw: [function (u) { over(u, chart); }], setCursor: [function (u) {
			var i = u.cursor.idx;
			values.forEach(function (v, k) { v.node.textContent = i == null ? v.last : show(u.data[k + 1][i]); });
			hint.textContent = i == null ? resting : "at " + at(u.data[0][i], axis);
		}]}
	};
	fig.insertBefore(box, svg);
	fig.insertBefore(hint, svg.nextSibling);
	var u = new uPlot(opts, data, box);
	fig.classList.add("has-live");
	plots.push({u: u, fig: fig});
	items.forEach(function (li, k) { toggle(li, function (on) { u.setSeries(k + 1, {show: on}); }); });
	keys(box, u);
}

// clipped draws inside the plot, in device pixels.
function clipped(u, draw) {
	var c = u.ctx, b = u.bbox;
	c.save();
	c.beginPath();
	c.rect(b.left, b.top, b.width, b.height);
	c.clip();
	draw(c, function (x) { return u.valToPos(x, "x", true); }, function (y) { return u.valToPos(y, "y", true); }, b);
	c.restore();
}

// under shades the warm-up and the intervals of the fitted lines.
function under(u, chart) {
	clipped(u, function (c, px, py, b) {
		if (chart.warm != null) {
			c.fillStyle = css("--wash");
			c.fillRect(b.left, b.top, px(chart.warm) - b.left, b.height);
			c.fillStyle = css("--soft");
			c.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
			c.textAlign = "left";
			c.fillText("warm-up", b.left + 6 * devicePixelRatio, b.top + 14 * devicePixelRatio);
		}
		(chart.fits || []).forEach(function (f) {
			c.globalAlpha = .22;
			c.fillStyle = css(colours[f.line] || "--total");
			c.beginPath();
			c.moveTo(px(f.x[0]), py(f.low[0]));
			c.lineTo(px(f.x[1]), py(f.low[1]));
			c.lineTo(px(f.x[1]), py(f.high[1]));
			c.lineTo(px(f.x[0]), py(f.high[0]));
			c.fill();
			c.globalAlpha = 1;
		});
	});
}

// over draws the fitted lines and the marks.
function over(u, chart) {
	var r = devicePixelRatio;
	clipped(u, function (c, px, py) {
		c.strokeStyle = css("--ink");
		c.lineWidth = 1.25 * r;
		c.setLineDash([7 * r, 4 * r]);
		(chart.fits || []).forEach(function (f) {
			c.beginPath();
			c.moveTo(px(f.x[0]), py(f.y[0]));
			c.lineTo(px(f.x[1]), py(f.y[1]));
			c.stroke();
		});
	});
	var c = u.ctx, b = u.bbox, last = -Infinity;
	c.save();
	c.font = 12 * r + "px system-ui, sans-serif";
	c.textBaseline = "bottom";
	(chart.marks || []).forEach(function (m) {
		var x = u.valToPos(m.x, "x", true);
		if (x < b.left - 1 || x > b.left + b.width + 1) return;
		c.strokeStyle = css(m.receipt ? "--ink" : "--soft");
		c.lineWidth = r;
		c.setLineDash(m.receipt ? [] : [2 * r, 3 * r]);
		c.beginPath();
		c.moveTo(x, b.top);
		c.lineTo(x, b.top + b.height);
		c.stroke();
		var wide = c.measureText(m.label).width + 6 * r, end = x + wide > b.left + b.width;
		if (x - (end ? wide : 0) < last) return;
		last = x + (end ? 0 : wide);
		c.fillStyle = css("--ink");
		c.textAlign = end ? "right" : "left";
		c.fillText(m.label, x + (end ? -3 : 3) * r, b.top - 3 * r);
	});
	c.restore();
}

// scaleOf is the unit for values up to v.
function scaleOf(v, isBytes) {
	var u = [" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"], i = 0, size = 1;
	if (!isBytes) return {size: 1, unit: ""};
	while (v / size >= 1023.95 && i < u.length - 1) { size *= 1024; i++; }
	return {size: size, unit: u[i]};
}

// stepOf is the round distance of about four values between lo and hi: 1, 2 or
// 5 by a power of ten, in the unit of the values.
function stepOf(lo, hi, isBytes) {
	var s = scaleOf(Math.max(Math.abs(lo), Math.abs(hi)), isBytes), step = nice((hi - lo) / 4 / s.size);
	return (s.size === 1 ? Math.max(step, 1) : step) * s.size;
}

function nice(raw) {
	var p = Math.pow(10, Math.floor(Math.log10(Math.max(raw, 1e-12)))), step = 10 * p;
	[5, 2, 1].forEach(function (m) { if (m * p >= raw * .999) step = m * p; });
	return step;
}

// around widens a range to round values; it begins at zero unless the values
// lie far above.
function around(lo, hi, isBytes) {
	if (lo == null || hi == null) return [0, 1];
	if (lo > 0 && lo < hi * .6) lo = 0;
	if (!(hi > lo)) { lo = Math.min(lo, 0); hi = Math.max(hi, 1); }
	var step = stepOf(lo, hi, isBytes);
	return [Math.floor(lo / step) * step, Math.ceil(hi / step) * step];
}

function splits(lo, hi, isBytes) { return every(lo, hi, stepOf(lo, hi, isBytes)); }

function every(lo, hi, step) {
	var out = [];
	for (var k = Math.ceil(lo / step - 1e-9); k * step <= hi + step * 1e-6 && out.length < 20; k++) out.push(k * step || 0);
	return out;
}

// places are round places on the axis, at most n of them.
function places(lo, hi, axis, n) {
	var raw = (hi - lo) / n, step = Math.max(nice(raw), axis === "s" ? 0 : 1);
	if (axis === "s" && raw > .5) {
		var all = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 31536000];
		step = all.filter(function (s) { return s >= raw; })[0] || step;
	}
	return every(lo, hi, step);
}

// labels are the texts of splits, in one unit.
function labels(vs, isBytes) {
	if (!isBytes) return vs.map(count);
	var s = scaleOf(Math.max.apply(null, vs.map(Math.abs)), true), step = vs.length > 1 ? (vs[1] - vs[0]) / s.size : 1;
	var prec = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
	return vs.map(function (v) { return v === 0 ? "0" : (v < 0 ? "−" : "") + (Math.abs(v) / s.size).toFixed(prec) + s.unit; });
}

function toggle(li, apply) {
	var b = document.createElement("button");
	b.type = "button";
	b.setAttribute("aria-pressed", "true");
	while (li.firstChild) b.appendChild(li.firstChild);
	li.appendChild(b);
	b.addEventListener("click", function () {
		var on = b.getAttribute("aria-pressed") !== "true";
		b.setAttribute("aria-pressed", String(on));
		apply(on);
	});
}

function keys(box, u) {
	box.addEventListener("keydown", function (e) {
		var s = u.scales.x, xs = u.data[0], i = u.cursor.idx, mid = i == null ? (s.min + s.max) / 2 : xs[i];
		if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
			var n = Math.max(1, Math.round(xs.length / (e.shiftKey ? 20 : 200)));
			i = i == null ? (e.key === "ArrowLeft" ? xs.length - 1 : 0) : i + (e.key === "ArrowLeft" ? -n : n);
			i = Math.min(Math.max(i, 0), xs.length - 1);
			u.setCursor({left: u.valToPos(xs[i], "x"), top: 10});
		} else if (e.key === "+" || e.key === "=" || e.key === "-") {
			var w = (s.max - s.min) * (e.key === "-" ? 1 : .25);
			zoom(Math.max(mid - w, xs[0]), Math.min(mid + w, xs[xs.length - 1]));
		} else if (e.key === "0") {
			zoom(xs[0], xs[xs.length - 1]);
		} else {
			return;
		}
		e.preventDefault();
	});
	function zoom(lo, hi) { if (hi > lo) u.setScale("x", {min: lo, max: hi}); }
}

document.querySelectorAll("figure.chart").forEach(function (fig) {
	try { enliven(fig); } catch (err) { fig.classList.remove("has-live"); }
});
var again = function () { plots.forEach(function (p) { p.u.setSize({width: p.fig.clientWidth, height: 250}); }); };
addEventListener("resize", again);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { plots.forEach(function (p) { p.u.redraw(); }); });
document.documentElement.dataset.charts = String(plots.length);
})();
