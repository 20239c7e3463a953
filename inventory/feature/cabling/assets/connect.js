// What the page that connects ports adds to its HTML: the ports of a device that is chosen, and ranges of ports.
"use strict";
(() => {
  const form = document.querySelector(".cabling-connect");
  form.addEventListener("change", (e) => {
    const at = e.target.closest("[data-pick]");
    if (at && at.querySelector("[name='to.id']").value && e.target.value === at.querySelector("[name='to.label']").value) form.requestSubmit();
  });
  const count = form.querySelector("[data-connect-count]"), chosen = (list) => list.querySelectorAll("input:checked").length;
  const tell = () => { if (count) count.textContent = Math.max(0, ...[...form.querySelectorAll("[data-sockets]")].map(chosen)) || ""; };
  form.querySelectorAll("[data-sockets]").forEach((list) => {
    let last;
    list.addEventListener("click", (e) => {
      if (!e.target.matches("input")) return;
      const all = [...list.querySelectorAll("input:not(:disabled)")], at = all.indexOf(e.target), from = all.indexOf(last);
      if (e.shiftKey && from >= 0) all.slice(Math.min(at, from), Math.max(at, from) + 1).forEach((box) => { box.checked = e.target.checked; });
      last = e.target;
      tell();
    });
    list.addEventListener("mousedown", (e) => { if (e.shiftKey) e.preventDefault(); }); // no text is selected
  });
  tell();
})();
