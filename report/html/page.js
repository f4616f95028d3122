(function () {
"use strict";
var css = function (name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); };
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
function make(tag, className, text) {
	var e = document.createElement(tag);
	if (className) e.className = className;
	if (text) e.textContent = text;
	return e;
}
function button(text, press) {
	var b = make("button", "", text);
	b.type = "button";
	b.addEventListener("click", press);
	return b;
}

// keyOf is the stroke of a line as the style sheet draws its key in the legend.
function keyOf(li) {
	var s = getComputedStyle(li.querySelector(".key line")), dash = s.strokeDasharray;
	return {stroke: s.stroke, width: parseFloat(s.strokeWidth), dash: dash === "none" ? [] : dash.split(/[ ,]+/).map(parseFloat)};
}

// known is the value at i, or where that sample lacks it the nearest one that
// the line is drawn through.
function known(v, i) {
	for (var d = 0; d < v.length; d++) {
		var a = v[i - d], b = v[i + d];
		if (a != null) return a;
		if (b != null) return b;
		if (a === null || b === null) return null; // the line is broken here
	}
	return null;
}

function enliven(fig) {
	var chart = JSON.parse(fig.querySelector("script").textContent), data = chart.data;
	data.forEach(function (v) { for (var i = 0; i < v.length; i++) if (v[i] === false) v[i] = undefined; });
	var svg = fig.querySelector("svg.plot"), items = Array.from(fig.querySelectorAll(".legend li"));
	var isBytes = fig.dataset.unit === "bytes", show = isBytes ? bytes : count, axis = fig.dataset.axis;
	var box = make("div", "live-plot"), place = make("span", "place"), said = make("span", "said");
	box.tabIndex = 0;
	box.setAttribute("role", "application");
	box.setAttribute("aria-roledescription", "chart");
	box.setAttribute("aria-label", svg.querySelector("desc").textContent + " Arrow keys read values, plus and minus zoom, 0 shows all.");
	said.setAttribute("aria-live", "polite");
	var lines = items.map(function (li) {
		var b = li.querySelector("b");
		return {li: li, id: li.dataset.line, name: li.querySelector("span").textContent, value: b, last: b.textContent};
	});
	var series = lines.map(function (l) {
		var key = keyOf(l.li);
		return {stroke: function () { return keyOf(l.li).stroke; }, dash: key.dash, width: key.width, points: {show: false}, spanGaps: false};
	});
	var font = "12px system-ui, sans-serif", soft = function () { return css("--soft"); }, scale;
	var opts = {
		width: fig.clientWidth, height: 250, padding: [18, 8, 0, 0], series: [{}].concat(series), legend: {show: false},
		scales: {x: {time: false}, y: {range: function (u, lo, hi) { scale = scaleOf(lo, hi, isBytes); return [scale.lo, scale.hi]; }}},
		cursor: {sync: {key: "gpumem-" + axis}, drag: {x: true, y: false}, points: {size: 6}, y: false},
		axes: [
			{stroke: soft, font: font, grid: {show: false}, ticks: {show: false}, size: 26,
				splits: function (u, i, lo, hi) { return places(lo, hi, axis, Math.max(2, Math.min(8, u.width / 130))); },
				values: function (u, vs) { return vs.map(function (v) { return at(v, axis); }); }},
			{stroke: soft, font: font, size: 74, ticks: {show: false},
				grid: {stroke: function () { return css("--rule"); }, width: 1},
				values: function (u, vs) { return labels(vs, scale, isBytes); },
				splits: function (u, i, lo, hi) { return every(lo, hi, scale.step); }}
		],
		hooks: {drawClear: [function (u) { under(u, chart, lines); }], draw: [function (u) { over(u, chart, lines); }], setCursor: [function (u) {
			var i = u.cursor.idx;
			lines.forEach(function (l, k) { l.value.textContent = i == null ? l.last : show(known(u.data[k + 1], i)); });
			place.textContent = i == null ? "" : "at " + at(u.data[0][i], axis);
		}], setScale: [function (u, key) {
			if (key !== "x") return; // what part is shown stands in the page, as it does in the picture
			fig.dataset.from = u.scales.x.min;
			fig.dataset.to = u.scales.x.max;
		}]}
	};
	fig.insertBefore(box, svg);
	var u = new uPlot(opts, data, box), p = {u: u, fig: fig, axis: axis};
	var row = make("p", "hint");
	[button("Zoom in", function () { zoomBy(p, .25); }), button("Zoom out", function () { zoomBy(p, 1); }), button("All", function () { all(p); }),
		place, said].forEach(function (e) { row.appendChild(e); });
	if (!plots.length) row.insertBefore(make("span", "", "or drag over the chart; double-click shows all."), place);
	fig.insertBefore(row, svg.nextSibling);
	fig.classList.add("has-live");
	plots.push(p);
	lines.forEach(function (l, k) {
		toggle(l.li, function (on) {
			u.setSeries(k + 1, {show: on});
			svg.querySelector('g[data-line="' + l.id + '"]').classList.toggle("off", !on);
		});
	});
	keys(box, p, function () {
		said.textContent = lines.filter(function (l, k) { return u.series[k + 1].show; }).map(function (l) { return l.name + " " + l.value.textContent; }).join(", ");
	});
}

// zoomBy shows of all charts over p's axis the part around the cursor, or the
// middle, that reaches half times the present width to either side.
function zoomBy(p, half) {
	var s = p.u.scales.x, xs = p.u.data[0], i = p.u.cursor.idx, mid = i == null ? (s.min + s.max) / 2 : xs[i], w = (s.max - s.min) * half;
	zoom(p.axis, Math.max(mid - w, xs[0]), Math.min(mid + w, xs[xs.length - 1]));
}
function all(p) { zoom(p.axis, p.u.data[0][0], p.u.data[0][p.u.data[0].length - 1]); }
function zoom(axis, lo, hi) {
	if (hi > lo) plots.forEach(function (p) { if (p.axis === axis) p.u.setScale("x", {min: lo, max: hi}); });
}

// fitsOf are the fits of the lines that are shown, each with its legend entry.
function fitsOf(u, chart, lines) {
	var out = [];
	(chart.fits || []).forEach(function (f) {
		lines.forEach(function (l, k) { if (l.id === f.line && u.series[k + 1].show) out.push({f: f, li: l.li}); });
	});
	return out;
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
function under(u, chart, lines) {
	clipped(u, function (c, px, py, b) {
		if (chart.warm != null) {
			c.fillStyle = css("--wash");
			c.fillRect(b.left, b.top, px(chart.warm) - b.left, b.height);
			c.fillStyle = css("--soft");
			c.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
			c.textAlign = "left";
			if (px(chart.warm) - b.left > c.measureText("warm-up").width + 12 * devicePixelRatio)
				c.fillText("warm-up", b.left + 6 * devicePixelRatio, b.top + 14 * devicePixelRatio);
		}
		fitsOf(u, chart, lines).forEach(function (fit) {
			var f = fit.f;
			c.globalAlpha = .22;
			c.fillStyle = keyOf(fit.li).stroke;
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
function over(u, chart, lines) {
	var r = devicePixelRatio;
	clipped(u, function (c, px, py) {
		c.strokeStyle = css("--ink");
		c.lineWidth = 1.25 * r;
		c.setLineDash([7 * r, 4 * r]);
		fitsOf(u, chart, lines).forEach(function (fit) {
			c.beginPath();
			c.moveTo(px(fit.f.x[0]), py(fit.f.y[0]));
			c.lineTo(px(fit.f.x[1]), py(fit.f.y[1]));
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

// unitOf is the unit for values up to v.
function unitOf(v, isBytes) {
	var u = [" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"], i = 0, size = 1;
	if (!isBytes) return {size: 1, name: ""};
	while (v / size >= 1023.95 && i < u.length - 1) { size *= 1024; i++; }
	return {size: size, name: u[i]};
}

// scaleOf is how values from lo to hi are shown: about four round ones, 1, 2 or
// 5 by a power of ten in one unit, around them; it begins at zero unless the
// values lie far above.
function scaleOf(lo, hi, isBytes) {
	if (lo == null || hi == null) { lo = 0; hi = 1; }
	if (lo > 0 && lo < hi * .6) lo = 0;
	if (!(hi > lo)) { lo = Math.min(lo, 0); hi = Math.max(hi, 1); }
	var unit = unitOf(Math.max(Math.abs(lo), Math.abs(hi)), isBytes), step = nice((hi - lo) / 4 / unit.size);
	if (unit.size === 1) step = Math.max(step, 1);
	return {lo: Math.floor(lo / unit.size / step) * step * unit.size, hi: Math.ceil(hi / unit.size / step) * step * unit.size,
		step: step * unit.size, unit: unit, prec: Math.max(0, -Math.floor(Math.log10(step) + 1e-9))};
}

function nice(raw) {
	var p = Math.pow(10, Math.floor(Math.log10(Math.max(raw, 1e-12)))), step = 10 * p;
	[5, 2, 1].forEach(function (m) { if (m * p >= raw * .999) step = m * p; });
	return step;
}

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

// labels are the texts of values on a scale.
function labels(vs, scale, isBytes) {
	if (!isBytes) return vs.map(count);
	return vs.map(function (v) {
		return v === 0 ? "0" : (v < 0 ? "−" : "") + (Math.abs(v) / scale.unit.size).toFixed(scale.prec) + scale.unit.name;
	});
}

function toggle(li, apply) {
	var b = button("", function () {
		var on = b.getAttribute("aria-pressed") !== "true";
		b.setAttribute("aria-pressed", String(on));
		apply(on);
	});
	b.setAttribute("aria-pressed", "true");
	while (li.firstChild) b.appendChild(li.firstChild);
	li.appendChild(b);
}

function keys(box, p, say) {
	box.addEventListener("keydown", function (e) {
		var u = p.u, xs = u.data[0], i = u.cursor.idx;
		if (e.ctrlKey || e.altKey || e.metaKey) return;
		if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
			var n = Math.max(1, Math.round(xs.length / (e.shiftKey ? 20 : 200)));
			i = i == null ? (e.key === "ArrowLeft" ? xs.length - 1 : 0) : i + (e.key === "ArrowLeft" ? -n : n);
			i = Math.min(Math.max(i, 0), xs.length - 1);
			u.setCursor({left: u.valToPos(xs[i], "x"), top: 10});
			say();
		} else if (e.key === "+" || e.key === "=") {
			zoomBy(p, .25);
		} else if (e.key === "-") {
			zoomBy(p, 1);
		} else if (e.key === "0") {
			all(p);
		} else {
			return;
		}
		e.preventDefault();
	});
}

// copy puts a button after the sentence that takes it whole.
function copy(p) {
	var b = button("Copy as one sentence", function () {
		var done = function () { b.textContent = "Copied"; }, by = document.execCommand ? byHand : function () {};
		if (navigator.clipboard) navigator.clipboard.writeText(p.dataset.sentence).then(done, by);
		else by();
		function byHand() {
			var t = make("textarea");
			t.value = p.dataset.sentence;
			b.after(t);
			t.select();
			if (document.execCommand("copy")) done();
			t.remove();
		}
	});
	b.className = "copy";
	p.after(b);
}

document.querySelectorAll("[data-sentence]").forEach(copy);
document.querySelectorAll("figure.chart").forEach(function (fig) {
	try { enliven(fig); } catch (err) { fig.classList.remove("has-live"); }
});
var again = function () { plots.forEach(function (p) { p.u.setSize({width: p.fig.clientWidth, height: 250}); }); };
addEventListener("resize", again);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { plots.forEach(function (p) { p.u.redraw(); }); });
document.documentElement.dataset.charts = String(plots.length);
})();
