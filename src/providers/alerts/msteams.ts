import {
  type AlertReceiver,
  authorOf,
  isAlarm,
  isTransientStatus,
  type Notice,
  noticeFacts,
} from './provider.ts';

/**
 * Microsoft Teams. Addresses of Power Automate workflows get an adaptive card; any other address gets the MessageCard of the connectors
 * that they replace, as Flagger sends it.
 */
export const msteams: AlertReceiver = {
  type: 'msteams',
  build: (notice, { address }) => ({
    url: address,
    json: isWorkflow(address) ? adaptiveCard(notice) : messageCard(notice),
  }),
  /** A connector answers 200 also when Teams, behind it, did not take the message. */
  refusal(answer) {
    const status = /Microsoft Teams endpoint returned HTTP error (\d{3})/.exec(answer)?.[1];
    if (status === undefined) return undefined;
    return { code: `Microsoft Teams answered ${status}`, isTransient: isTransientStatus(Number(status)) };
  },
};

/** `/workflows/<id>/triggers/`, with `/powerautomate/automations/direct` before it on newer addresses; the same in every cloud. */
function isWorkflow(address: string): boolean {
  return URL.canParse(address) && /\/workflows\/[^/]+\/triggers\//.test(new URL(address).pathname);
}

function messageCard(notice: Notice): object {
  const author = authorOf(notice);
  return {
    '@type': 'MessageCard',
    '@context': 'http://schema.org/extensions',
    themeColor: isAlarm(notice) ? 'FF0000' : '0076D7',
    summary: author,
    sections: [
      {
        activityTitle: notice.incident.message,
        activitySubtitle: author,
        facts: noticeFacts(notice).map(({ title, value }) => ({ name: title, value })),
        markdown: false,
      },
    ],
  };
}

function adaptiveCard(notice: Notice): object {
  const body = [
    {
      type: 'TextBlock',
      text: plain(notice.incident.message),
      weight: 'Bolder',
      wrap: true,
      color: isAlarm(notice) ? 'Attention' : 'Good',
    },
    { type: 'TextBlock', text: plain(authorOf(notice)), isSubtle: true, spacing: 'None', wrap: true },
    {
      type: 'FactSet',
      facts: noticeFacts(notice).map(({ title, value }) => ({ title, value: plain(value) })),
    },
  ];
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    msteams: { width: 'Full' },
    body,
  };
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content };
  return { type: 'message', attachments: [attachment] };
}

/** Adaptive cards read a part of Markdown: links and emphasis are taken apart. */
function plain(text: string): string {
  return text.replace(/[\\*_[\]]/g, (mark) => `\\${mark}`);
}
