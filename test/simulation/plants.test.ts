import { sampleOf } from '../support/sample';
import { describePlants } from './describe-plants';
import { PLANTS } from './plants';

const SOME = 8;

describePlants(sampleOf('plants', PLANTS, SOME, ({ bug }) => bug));
