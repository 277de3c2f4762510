// The page renews itself every two seconds, unless it is paused or hidden.
(() => {
  const button = document.getElementById("live");
  const status = document.getElementById("status");
  let on = true;
  const show = (text) => { button.setAttribute("aria-pressed", String(on)); status.textContent = text; };
  const renew = async () => {
    if (!on || document.hidden) return;
    try {
      const reply = await fetch(location.href, { cache: "no-store" });
      if (!reply.ok) throw new Error(reply.status);
      const next = new DOMParser().parseFromString(await reply.text(), "text/html");
      if (!String(getSelection()) && next.querySelector("main")) {
        document.querySelector("main").replaceWith(next.querySelector("main"));
        document.getElementById("at").replaceWith(next.getElementById("at"));
      }
      show("live");
    } catch {
      show("no answer");
    }
  };
  button.hidden = false;
  button.addEventListener("click", () => { on = !on; show(on ? "live" : "paused"); });
  show("live");
  setInterval(renew, 2000);
})();
