// Rates of the rules on the page, every two seconds while the page is visible.
"use strict";
(() => {
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
