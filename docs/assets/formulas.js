// Draws formulas, written as $…$ or $$…$$, with the KaTeX of this site.
document.querySelectorAll(".arithmatex").forEach((element) => {
  const [, opening, formula] = element.textContent.trim().match(/^\\([([])([^]*)\\[)\]]$/);
  katex.render(formula, element, { displayMode: opening === "[", throwOnError: false });
});
