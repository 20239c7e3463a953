// What pages with several steps add: a sign that a form is being sent, and the name of a dropped file.
"use strict";
(() => {
  const waits = (form, on) => {
    form.setAttribute("aria-busy", String(on));
    form.querySelectorAll("[data-busy]").forEach((sign) => { sign.hidden = !on; });
    form.querySelectorAll("button").forEach((b) => { b.disabled = on; });
  };
  document.querySelectorAll("form[data-wait]").forEach((form) => {
    form.addEventListener("submit", () => setTimeout(() => waits(form, true), 0)); // the button has been sent then
  });
  // A page that the browser has kept is shown as it was left.
  addEventListener("pageshow", (e) => { if (e.persisted) document.querySelectorAll("form[data-wait]").forEach((form) => waits(form, false)); });
})();
