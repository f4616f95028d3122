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
	var svg = fig.querySelector("svg.plot"), items = fig.querySelectorAll(".legend li");
	var show = fig.dataset.unit === "bytes" ? bytes : count, axis = fig.dataset.axis;
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
		scales: {x: {time: false}, y: {range: function (u, lo, hi) {
			var x = u.scales.x;
			if (lo == null || x.min == null || x.min <= xs[0] && x.max >= xs[xs.length - 1]) return chart.y;
			var pad = (hi - lo) * .08 || Math.abs(hi) * .08 || 1;
			return [lo >= 0 ? Math.max(lo - pad, 0) : lo - pad, hi + pad];
		}}},
		cursor: {sync: {key: "gpumem-" + axis}, drag: {x: true, y: false}, points: {size: 6}, y: false},
		axes: [
			{stroke: function () { return css("--soft"); }, font: font, grid: {show: false}, ticks: {show: false}, size: 26,
				values: function (u, vs) { return vs.map(function (v) { return at(v, axis); }); }, space: 90},
			{stroke: function () { return css("--soft"); }, font: font, size: 74, ticks: {show: false},
				grid: {stroke: function () { return css("--rule"); }, width: 1},
				values: function (u, vs) { return vs.map(show); },
				splits: function (u, i, lo, hi, inc) { return splits(lo, hi, fig.dataset.unit === "bytes"); }}
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
			c.textAlign = "right";
			if (px(chart.warm) - b.left > 110 * devicePixelRatio) c.fillText("warm-up, left out", px(chart.warm) - 6 * devicePixelRatio, b.top + 14 * devicePixelRatio);
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
		if (x - last < 110 * r) return;
		last = x;
		var end = x > b.left + b.width - 110 * r;
		c.fillStyle = css("--ink");
		c.textAlign = end ? "right" : "left";
		c.fillText(m.label, x + (end ? -3 : 3) * r, b.top - 3 * r);
	});
	c.restore();
}

function splits(lo, hi, isBytes) {
	var raw = (hi - lo) / 4, unit = 1;
	if (!(raw > 0)) return [lo];
	if (isBytes) while (raw / unit >= 1023.95) unit *= 1024;
	var p = Math.pow(10, Math.floor(Math.log10(raw / unit))), step = 10 * p;
	[5, 2, 1].forEach(function (m) { if (m * p >= raw / unit * .999) step = m * p; });
	step *= unit;
	var out = [];
	for (var v = Math.ceil(lo / step) * step; v <= hi && out.length < 20; v += step) out.push(v);
	return out;
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
