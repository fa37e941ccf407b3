import { describePlants } from './describe-plants';
import { PLANTS } from './plants';

describePlants(PLANTS);
