// Rates of the rules on the page, every two seconds while the page is visible. Lines with faults in the editor.
"use strict";
(() => {
  document.addEventListener("click", (e) => {
    const to = e.target.closest("a[data-line]"), text = document.getElementById("edit-text");
    if (!to || !text) return;
    e.preventDefault();
    const lines = text.value.split("\n"), line = Math.min(+to.dataset.line, lines.length) - 1;
    const start = lines.slice(0, line).reduce((n, l) => n + l.length + 1, 0);
    text.focus();
    text.setSelectionRange(start, start + lines[line].length);
    text.scrollTop = Math.max(0, line - 4) * parseFloat(getComputedStyle(text).lineHeight);
  });
  const source = document.querySelector("[data-rates]")?.dataset.rates;
  if (!source) return;
  const line = (values, top) => values.map((v, i) => (120 * i / (values.length - 1)).toFixed(1) + "," + (27 - 25 * v / top).toFixed(1)).join(" ");
  function show(id, rate) {
    document.querySelectorAll(`[data-rate-of="${id}"]`).forEach((at) => { const text = rate[at.dataset.ratePart]; if (at.textContent !== text) at.textContent = text; at.toggleAttribute("data-rate-zero", text === "0"); });
    const [allowed, refused] = rate.lines || [[], []], top = Math.max(...allowed, ...refused) || 1;
    document.querySelectorAll(`[data-spark-of="${id}"]`).forEach((at) => {
      at.children[0].setAttribute("points", refused.some(Boolean) ? line(refused, top) : "");
      at.children[1].setAttribute("points", line(allowed, top));
    });
  }
  async function update() {
    if (document.hidden) return;
    const ids = new Set([...document.querySelectorAll("[data-rate-of]")].map((at) => at.dataset.rateOf));
    ids.delete("total");
    try {
      const answer = await fetch(source + "?ids=" + [...ids].join(","));
      if (!answer.ok) return;
      const rates = await answer.json(), none = { allowed: "0", near: "0", refused: "0" };
      show("total", rates.total);
      ids.forEach((id) => show(id, rates.rules[id] || none));
    } catch { /* the next one may succeed */ }
  }
  setInterval(update, 2000);
})();
