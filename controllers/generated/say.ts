import { fewSentences } from '../../core/few';
import type { EventRecorder, Subject } from '../event-recorder';

/** As one warning on an object. Without sentences, an earlier one is over. */
export function say(
  events: EventRecorder,
  subject: Subject,
  reason: string,
  sentences: readonly string[],
): void {
  if (sentences.length === 0) events.over(subject, reason);
  else events.record(subject, 'Warning', reason, fewSentences(sentences));
}
