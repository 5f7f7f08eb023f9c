import { type AlertReceiver, authorOf, noticeFacts } from './provider.ts';

/** Google Chat: a card by the webhook of a space. */
export const gchat: AlertReceiver = {
  type: 'gchat',
  build(notice, { address }) {
    const widget = (text: string) => ({ widgets: [{ textParagraph: { text } }] });
    const sections = [
      widget(markup(notice.incident.message)),
      ...noticeFacts(notice).map(({ title, value }) => widget(`<b>${markup(title)}</b><br>${markup(value)}`)),
    ];
    const header = { title: 'Holdfast', subtitle: authorOf(notice) };
    return { url: address, json: { cards: [{ header, sections }] } };
  },
};

/** Text as the HTML that paragraphs are written in. */
function markup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
