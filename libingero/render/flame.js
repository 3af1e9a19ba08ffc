/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script of flame_svg.c: it lays the boxes out anew at the width of the window, zooms into one, and marks names.
 * A box has its place in units of the measure (data-x, data-w), its row (data-d), and its texts in <title>, the label
 * first. Without this script the picture is whole, too.
 */
(function () {
	"use strict";
	var svg = document.currentScript ? document.currentScript.parentNode : document.documentElement;
	var field = svg.querySelector("input"), found = svg.querySelector("#found"), detail = svg.querySelector("#detail");
	var total = Number(svg.getAttribute("data-total"));
	var LETTER = 7.23, GAP = 10, LEAST = 0.3;
	var zoomed = null, boxes = [];

	svg.querySelectorAll("g.box").forEach(function (g) {
		var told = g.querySelector("title").textContent.split("\n");

		boxes.push({
			g: g, rect: g.querySelector("rect"), text: g.querySelector("text"), label: told[0], told: told.join(" \u00b7 "),
			x: Number(g.getAttribute("data-x")), w: Number(g.getAttribute("data-w")), d: Number(g.getAttribute("data-d"))
		});
	});

	function fit(label, width) {
		var letters = Math.floor((width - 6) / LETTER), all = Array.from(label);

		if (letters >= all.length)
			return label;
		return letters < 3 ? "" : all.slice(0, letters - 1).join("") + "\u2026";
	}

	function layOut() {
		var width = Math.max(svg.clientWidth || svg.parentNode.clientWidth || 1200, 200) - 2 * GAP;
		var from = zoomed ? zoomed.x : 0, whole = (zoomed ? zoomed.w : total) || 1;

		boxes.forEach(function (box) {
			var left = Math.max((box.x - from) / whole, 0), right = Math.min((box.x + box.w - from) / whole, 1);
			var pixels = (right - left) * width, isHidden = pixels < LEAST;

			box.g.style.display = isHidden ? "none" : "";
			if (isHidden)
				return;
			box.g.classList.toggle("above", zoomed !== null && box.d < zoomed.d);
			box.rect.setAttribute("x", (GAP + left * width).toFixed(2));
			box.rect.setAttribute("width", pixels.toFixed(2));
			box.text.setAttribute("x", (GAP + left * width + 3).toFixed(2));
			box.text.textContent = fit(box.label, pixels);
		});
		svg.querySelectorAll(".right").forEach(function (one) {
			one.setAttribute("x", String(width + GAP - Number(one.getAttribute("data-right"))));
		});
	}

	function zoom(box) {
		zoomed = box && box.w < total ? box : null;
		layOut();
	}

	function matcher(wanted) {
		try {
			var pattern = new RegExp(wanted, "i");

			return function (text) { return pattern.test(text); };
		} catch (error) {
			return function (text) { return text.toLowerCase().indexOf(wanted.toLowerCase()) >= 0; };
		}
	}

	/* Boxes come parents first: what lies in a marked one is counted with it. */
	function search() {
		var wanted = field.value, matches = matcher(wanted), sum = 0, end = 0;

		boxes.forEach(function (box) {
			var isMarked = wanted !== "" && box.d > 0 && matches(box.label);

			box.g.classList.toggle("marked", isMarked);
			if (isMarked && box.x >= end) {
				sum += box.w;
				end = box.x + box.w;
			}
		});
		found.textContent = wanted === "" ? "" : (100 * sum / (total || 1)).toFixed(1) + " %";
	}

	boxes.forEach(function (box) {
		box.g.addEventListener("click", function () { zoom(box); });
		box.g.addEventListener("mouseover", function () { detail.textContent = box.told; });
		box.g.addEventListener("mouseout", function () { detail.textContent = "\u00a0"; });
	});
	field.addEventListener("input", search);
	document.addEventListener("keydown", function (event) {
		if (event.key === "Escape") {
			field.value = "";
			search();
			zoom(null);
		} else if ((event.key === "/" && event.target !== field) || (event.key === "f" && (event.ctrlKey || event.metaKey))) {
			event.preventDefault();
			field.focus();
		}
	});
	svg.setAttribute("width", "100%");
	svg.removeAttribute("viewBox");
	svg.classList.add("live");
	window.addEventListener("resize", layOut);
	layOut();
}());
