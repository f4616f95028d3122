(function () {
"use strict";
var css = function (name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); };
var plots = [];

function bytes(v) {
	if (v == null) return "–";
	var u = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"], i = 0, a = Math.abs(v);
	while (a >= 1023.5 && i < u.length - 1) { a /= 1024; i++; }
	return (v < 0 ? "−" : "") + a.toFixed(a >= 99.95 || a === Math.trunc(a) && a < 10 ? 0 : a >= 9.995 ? 1 : 2) + " " + u[i];
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

// widthOf is a chart's width; one that is folded away will be as wide as the page.
function widthOf(fig) { return fig.clientWidth || document.querySelector("main").clientWidth; }
function highOf(fig) { return +fig.querySelector("svg.plot").getAttribute("height") - 2; }

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
		width: widthOf(fig), height: highOf(fig), padding: [18, 8, 0, 0], series: [{}].concat(series), legend: {show: false},
		scales: {x: {time: false}, y: {range: function (u, lo, hi) { var r = reach(u, chart, lines, lo, hi); lo = r[0]; hi = r[1]; scale = scaleOf(lo, hi, isBytes); return [scale.lo, scale.hi]; }}},
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
			lines.forEach(function (l, k) { l.value.textContent = i == null ? l.last : swing(chart, l, u.data[0][i], show) || show(known(u.data[k + 1], i)); });
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

// bandsOf are the bands of the swinging lines that are shown.
function bandsOf(u, chart, lines) {
	var out = [];
	(chart.bands || []).forEach(function (b) {
		lines.forEach(function (l, k) { if (l.id === b.line && (!u || u.series[k + 1].show)) out.push({b: b, li: l.li}); });
	});
	return out;
}

// reach widens lo and hi to what bands reach in the part of the axis that is shown.
function reach(u, chart, lines, lo, hi) {
	var from = u.scales.x.min, to = u.scales.x.max;
	bandsOf(u, chart, lines).forEach(function (band) {
		band.b.x.forEach(function (x, i) {
			if (x < from || x > to) return;
			lo = lo == null ? band.b.low[i] : Math.min(lo, band.b.low[i]);
			hi = hi == null ? band.b.high[i] : Math.max(hi, band.b.high[i]);
		});
	});
	return [lo, hi];
}

// swing is between what values a swinging line lies at x; null of another line.
function swing(chart, l, x, show) {
	var out = null;
	bandsOf(null, chart, [l]).forEach(function (band) {
		var b = band.b, best = 0;
		b.x.forEach(function (at, i) { if (Math.abs(at - x) < Math.abs(b.x[best] - x)) best = i; });
		out = show(b.low[best]) + " … " + show(b.high[best]);
	});
	return out;
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
		}
		bandsOf(u, chart, lines).forEach(function (band) {
			var b = band.b;
			c.globalAlpha = .28;
			c.fillStyle = keyOf(band.li).stroke;
			c.beginPath();
			b.x.forEach(function (x, i) { c.lineTo(px(x), py(b.low[i])); });
			for (var i = b.x.length - 1; i >= 0; i--) c.lineTo(px(b.x[i]), py(b.high[i]));
			c.fill();
			c.globalAlpha = 1;
		});
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
	while (v / size >= 1023.5 && i < u.length - 1) { size *= 1024; i++; }
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

// stack lets the reader choose a moment, by the picture or by the slider below it,
// and shows what lived then.
function stack(fig) {
	var d = JSON.parse(fig.querySelector("script").textContent), svg = fig.querySelector("svg.plot");
	var place = fig.querySelector(".moment"), atPeak = place.textContent, items = Array.from(fig.querySelectorAll(".legend li"));
	var row = make("div", "choose"), label = make("label", "", "Moment"), slider = make("input");
	var line = document.createElementNS("http://www.w3.org/2000/svg", "line"), n = d.x.length, from = d.x[0], span = d.x[n - 1] - from;
	var before = items.map(function (li) { return [li.querySelector("b").textContent, li.querySelector(".share").textContent]; });
	slider.type = "range";
	slider.min = 0;
	slider.max = n - 1;
	slider.id = "moment";
	label.htmlFor = "moment";
	line.setAttribute("class", "cursor");
	line.setAttribute("y1", 18);
	line.setAttribute("y2", svg.getAttribute("height") - 24);
	svg.appendChild(line);
	function show(i) {
		var part = (d.x[i] - from) / span * 100 + "%", sum = 0;
		d.parts.forEach(function (v) { sum += v[i]; });
		line.setAttribute("x1", part);
		line.setAttribute("x2", part);
		slider.value = i;
		place.textContent = i === d.peak ? atPeak : "At " + time(d.x[i]) + ": " + bytes(sum);
		slider.setAttribute("aria-valuetext", place.textContent);
		items.forEach(function (li, k) {
			var v = d.parts[k][i];
			li.querySelector("b").textContent = i === d.peak ? before[k][0] : bytes(v);
			li.querySelector(".share").textContent = i === d.peak ? before[k][1] : sum > 0 ? (100 * v / sum).toFixed(v * 10 < sum ? 1 : 0) + " %" : "–";
		});
	}
	svg.addEventListener("click", function (e) {
		var box = svg.getBoundingClientRect(), x = from + (e.clientX - box.left) / box.width * span, i = 0;
		while (i < n - 1 && d.x[i + 1] <= x) i++;
		show(i);
	});
	slider.addEventListener("input", function () { show(+slider.value); });
	[label, slider, button("Peak", function () { show(d.peak); })].forEach(function (e) { row.appendChild(e); });
	svg.after(row);
	show(d.peak);
}
function time(s) { return s < 1 ? +(s * 1000).toFixed(1) + " ms" : at(s, "s"); }

// worth is the number that a cell shows, in its smallest unit; null of a word.
function worth(text) {
	var m = /^([+−-]?)([\d.,]+)\s*(\S*)/.exec(text), units = {KiB: 1, MiB: 2, GiB: 3, TiB: 4, PiB: 5, EiB: 6};
	var spans = {ms: .001, min: 60, h: 3600, days: 86400};
	if (!m) return null;
	var v = parseFloat(m[2].replace(/,/g, "")) * (units[m[3]] ? Math.pow(1024, units[m[3]]) : spans[m[3]] || 1);
	return m[1] === "" || m[1] === "+" ? v : -v;
}

// sorted puts the rows of a table in the order of a column; what is unknown comes last.
function sorted(table, column, down) {
	var body = table.tBodies[0], number = table.tHead.rows[0].cells[column].className === "n";
	var rows = Array.from(body.rows).map(function (row) {
		var text = row.cells[column].textContent;
		return {row: row, text: text, v: number ? worth(text) : text};
	});
	rows.sort(function (a, b) {
		if (a.v === null || b.v === null) return (a.v === null) - (b.v === null);
		return (down ? -1 : 1) * (number ? a.v - b.v : a.text.localeCompare(b.text));
	});
	rows.forEach(function (r) { body.appendChild(r.row); });
}

function sortable(table) {
	var heads = Array.from(table.tHead.rows[0].cells);
	heads.forEach(function (th, k) {
		var b = button(th.textContent, function () {
			var before = th.getAttribute("aria-sort"), down = before ? before === "ascending" : th.className === "n";
			heads.forEach(function (o) { o.removeAttribute("aria-sort"); });
			th.setAttribute("aria-sort", down ? "descending" : "ascending");
			sorted(table, k, down);
		});
		th.textContent = "";
		th.appendChild(b);
	});
}

function searchable(table) {
	var box = make("div", "find"), label = make("label", "", "Search "), input = make("input"), told = make("span");
	input.type = "search";
	told.setAttribute("aria-live", "polite");
	label.appendChild(input);
	box.appendChild(label);
	box.appendChild(told);
	input.addEventListener("input", function () {
		var want = input.value.toLowerCase(), n = 0, rows = Array.from(table.tBodies[0].rows);
		rows.forEach(function (row) {
			row.hidden = row.textContent.toLowerCase().indexOf(want) < 0;
			n += row.hidden ? 0 : 1;
		});
		told.textContent = want ? " " + n + " of " + rows.length : "";
	});
	table.parentNode.before(box);
}

// On paper nothing can be unfolded.
var folded = [];
addEventListener("beforeprint", function () {
	folded = Array.from(document.querySelectorAll("main details:not([open])"));
	folded.forEach(function (d) { d.open = true; });
});
addEventListener("afterprint", function () { folded.forEach(function (d) { d.open = false; }); });
document.querySelectorAll("figure.stack").forEach(stack);
document.querySelectorAll("table").forEach(function (table) {
	var n = table.tBodies[0].rows.length;
	if (n > 1) sortable(table);
	if (n > 7) searchable(table);
});
document.querySelectorAll("[data-sentence]").forEach(copy);
document.querySelectorAll("figure.chart").forEach(function (fig) {
	try { enliven(fig); } catch (err) { fig.classList.remove("has-live"); }
});
var again = function () { plots.forEach(function (p) { p.u.setSize({width: widthOf(p.fig), height: highOf(p.fig)}); }); };
addEventListener("resize", again);
document.querySelectorAll("details").forEach(function (d) { d.addEventListener("toggle", again); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { plots.forEach(function (p) { p.u.redraw(); }); });
document.documentElement.dataset.charts = String(plots.length);
})();
